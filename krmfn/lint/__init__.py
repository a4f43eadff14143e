"""The warnings of contract R2: what is probably not what the user wants. Nothing here edits anything.

``check_container``, ``check_workload`` and ``check_bystanders`` cover every line of R2 that is about the
user's own text; what is about gangs and roles is found by the backends, what is about wrappers by inject.
"""

from krmfn.lint.bystanders import check_bystanders
from krmfn.lint.containers import check_container
from krmfn.lint.texts import Scene
from krmfn.lint.variables import check_workload

__all__ = ["Scene", "check_bystanders", "check_container", "check_workload"]
