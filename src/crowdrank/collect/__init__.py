"""What to ask whom next: beliefs that every judgment updates, policies that choose questions by them, and when to stop."""
