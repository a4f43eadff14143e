"""From a member of a gang to edits of its pod template: env entries, the prelude, the env file."""
