"""Not built by the project, whose machines have no Spack. In a folder packages/dsop of a repository of your own:

    spack repo create repo && mkdir repo/packages/dsop && cp scripts/package.d/spack/package.py repo/packages/dsop
    spack repo add repo && spack develop --path $PWD dsop@main && spack install dsop@main
"""

from spack.package import *


class Dsop(MesonPackage):
    """Sums of outer products, sparse, top-k and dense vectors over MPI ranks, for data-parallel training on CPUs."""

    license("Apache-2.0")
    version("main", branch="main")

    variant("mpi", default=True, description="The MPI transport; without it everything runs on threads")
    variant("gloo", default=False, description="Gloo's allreduce among the rivals of dsop-bench")
    variant("python", default=True, description="The Python package")

    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("catch2@2", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("openblas threads=openmp")
    depends_on("zlib-api")
    depends_on("mpi", when="+mpi")
    depends_on("gloo", when="+gloo")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("py-numpy", type="run", when="+python")
    depends_on("py-mpi4py", type="run", when="+python+mpi")
    extends("python", when="+python")

    def meson_args(self):
        chosen = [f"-D{name}={'enabled' if self.spec.satisfies('+' + name) else 'disabled'}" for name in ("mpi", "gloo")]
        if self.spec.satisfies("+python"):  # else where the system's own Python looks
            chosen.append(f"-Dpython.purelibdir={self.prefix.join(self.spec['python'].package.purelib)}")
        return [*chosen, "-Dsimgrid=disabled"]
