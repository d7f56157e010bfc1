"""All commands of `collect`, in the order of the help."""

from collect.commands import (
    anova,
    archive,
    check,
    compare,
    export,
    import_log,
    look,
    plan,
    power,
    report,
    rerun,
    status,
)

COMMANDS = (
    plan,
    check,
    status,
    report,
    anova,
    power,
    look,
    compare,
    export,
    import_log,
    archive,
    rerun,
)
