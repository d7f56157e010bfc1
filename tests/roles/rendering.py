"""What Ansible makes of a role's variables, templates and conditions."""

import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import filter_loader, init_plugin_loader
from ansible.template import Templar, trust_as_template
from loading import ROOT

# Finds lookups by their whole names.
init_plugin_loader()


class Role:
    """A role with its own variables, and with others in place of what a play knows."""

    def __init__(self, name, **variables):
        self.path = ROOT / "roles" / name
        filter_loader.add_directory(str(self.path / "filter_plugins"))
        loader = DataLoader()
        known = {"role_path": str(self.path), "ansible_search_path": [str(self.path)]}
        for place in ("defaults", "vars"):
            file = self.path / place / "main.yml"
            if file.exists():
                known |= loader.load_from_file(str(file), trusted_as_template=True)
        self._templar = Templar(loader, variables=known | variables)

    def render(self, text):
        """Return what a value becomes."""
        return self._templar.template(trusted(text))

    def template(self, name):
        """Return what a template becomes."""
        return self.render(f"{{{{ lookup('ansible.builtin.template', '{name}') }}}}")

    def holds(self, condition):
        """Return whether a condition holds."""
        return self._templar.evaluate_conditional(trust_as_template(condition))

    def task(self, file, name):
        """Return a task as it is written; the end of its name is enough."""
        tasks = yaml.safe_load((self.path / "tasks" / f"{file}.yml").read_text())
        for task in tasks:  # grows as it goes
            tasks += [*task.get("block", []), *task.get("rescue", [])]
        return next(task for task in tasks if task["name"].endswith(name))

    def of_task(self, file, name):
        """Return the same role with the variables of a task, which it uses, and the task."""
        task = self.task(file, name)
        loader_vars = {key: trusted(value) for key, value in task.get("vars", {}).items()}
        self._templar.available_variables = self._templar.available_variables | loader_vars
        return task


def trusted(value):
    """Return a value whose templates are filled, as those of a task are."""
    if isinstance(value, dict):
        return {key: trusted(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [trusted(inner) for inner in value]
    return trust_as_template(value) if isinstance(value, str) else value
