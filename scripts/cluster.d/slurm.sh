# placeholder
need_slurm_packages() { :; }
start_slurm() { :; }
print_slurm_status() { :; }
