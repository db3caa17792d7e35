"""The server of `crowdrank serve`: an API for annotators, LLM annotators and owners, and the pages that use it."""
