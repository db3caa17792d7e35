"""The methods, in a package for each family, named after the judgments that its methods are made for.

- `grades`: grades on a scale
- `pairs`: votes on which of two items is better
- `rankings`: lists, best first
- `supervised`: any judgments, and gold to learn from first

Each family has a sub-package with its machinery. What all share stands here: `protocols` (what a method is),
`catalogue` (the methods by name), `result` (from scores to a Consensus).
"""
