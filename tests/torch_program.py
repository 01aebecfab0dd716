"""What torch_test.py runs on each rank: dsop.torch beside plain torch on all ranks' data.

Arguments name cases; default: all.
"""

from __future__ import annotations

import torch_autocast_cases  # noqa: F401, these enter their cases
import torch_bf16_cases  # noqa: F401
import torch_bias_cases  # noqa: F401
import torch_ddp_cases  # noqa: F401
import torch_dense_cases  # noqa: F401
import torch_embedding_cases  # noqa: F401
import torch_failing_steps_cases  # noqa: F401
import torch_failures_cases  # noqa: F401
import torch_graph_cases  # noqa: F401
import torch_groups_cases  # noqa: F401
import torch_hook_cases  # noqa: F401
import torch_joint_cases  # noqa: F401
import torch_joint_state_cases  # noqa: F401
import torch_kept_exceptions_cases  # noqa: F401
import torch_layers_cases  # noqa: F401
import torch_overlap_cases  # noqa: F401
import torch_random_cases  # noqa: F401
import torch_recurrent_cases  # noqa: F401
import torch_several_models_cases  # noqa: F401
import torch_training_cases  # noqa: F401
from torch_support import run

run()
