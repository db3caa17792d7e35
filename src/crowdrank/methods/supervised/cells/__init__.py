"""What the supervised methods are made of: what each annotator says about each entry, training sets, and learned
weights.
"""
