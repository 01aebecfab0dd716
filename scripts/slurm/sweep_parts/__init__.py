"""The parts of scripts/slurm/sweep and of scripts/slurm/walk, which its jobs run."""
