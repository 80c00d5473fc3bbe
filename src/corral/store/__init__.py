"""The database: one way in on SQLite and PostgreSQL, the schema's types, migrations, backups, keys."""
