"""Steps of PyTorch models, summed over ranks in several ways: what scripts/torch measures."""
