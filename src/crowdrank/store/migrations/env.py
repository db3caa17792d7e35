"""What Alembic runs: the migrations, on the connection that `crowdrank.store.upgrade` gives."""

from alembic import context

from crowdrank.store.tables import metadata

config = getattr(context, "config", None)
if config is not None:  # who only imports this module has none
    context.configure(connection=config.attributes["connection"], target_metadata=metadata)
    context.run_migrations()
