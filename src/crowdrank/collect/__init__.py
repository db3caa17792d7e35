"""What to ask whom next: a state that each judgment updates, policies that choose questions by it, and when to stop."""
