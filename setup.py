"""What pyproject.toml cannot say: the files that sites need go into the package, as cosched/files."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

LIST = Path("deploy/FILES")


class BuildWithFiles(build_py):
    """Copies what deploy/FILES lists, and that list. An editable installation uses the files of the tree."""

    def run(self) -> None:
        """Build the package."""
        super().run()
        if not self.editable_mode:
            for source, target in self._files().items():
                self.mkpath(str(Path(target).parent))
                self.copy_file(source, target)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """Return all files that are built."""
        return [*super().get_outputs(include_bytecode), *self._files().values()]

    def get_source_files(self) -> list[str]:
        """Return all files that the build reads."""
        return [*super().get_source_files(), *self._files()]

    def _files(self) -> dict[str, str]:
        """Map each source file to its place in the package."""
        lines = [line for line in LIST.read_text().splitlines() if not line.startswith("#")]
        files = [LIST, *(Path(line.split()[0]) for line in lines)]
        folder = Path(self.build_lib, "cosched", "files")
        return {str(file): str(folder / file) for file in files}


setup(cmdclass={"build_py": BuildWithFiles})
