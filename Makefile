# softground: `make` lists the targets.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Extras of pyproject.toml to install. `dev` is what `make test` needs; e.g. make setup EXTRAS=dev,dem,view
EXTRAS ?= dev

comma := ,
STAMP := $(VENV)/.setup-$(subst $(comma),-,$(EXTRAS))

# XLA's older way of making CPU kernels compiles faster and they run as fast; without optimisation and LLVM's expensive
# passes they compile faster still, and so they do in one piece on cores that are busy; most tests run what they compile
# once. Nothing here is spread over devices, and nobody reads where in our code an operation came from. Only for the
# jaxlib that constraints.txt pins (0.10): one that does not know a flag of XLA_FLAGS aborts.
QUICK_COMPILE := --xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0 \
  --xla_llvm_disable_expensive_passes=true --xla_cpu_parallel_codegen_split_count=1
# One thread for BLAS: two test processes with two each wait for one another.
JAX_ENV := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 JAX_COMPILATION_CACHE_DIR="$(CURDIR)/.jax_cache" \
  JAX_USE_SHARDY_PARTITIONER=0 JAX_TRACEBACK_IN_LOCATIONS_LIMIT=0 \
  XLA_FLAGS="--xla_cpu_multi_thread_eigen=false $(QUICK_COMPILE) $(XLA_FLAGS)"

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow test-mujoco4 quick lint format clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Build the environment in .venv (again only when its inputs change)
	@:

$(STAMP): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { \
	  echo "softground needs Python 3.11 or newer, but '$(PYTHON)' was not found: use make setup PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "softground needs Python 3.11 or newer, but '$(PYTHON)' is $$($(PYTHON) -V 2>&1): use make setup PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
	  $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "'$(PYTHON)' cannot make virtual environments (no ensurepip). On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }; \
	  echo "Making $(VENV)"; $(PYTHON) -m venv --clear $(VENV); }
	@echo "Installing softground[$(EXTRAS)] into $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $@

# The demonstration needs no tests, and so none of what they need (PyTorch among it).
demo: ## Run the demonstration
	@test -x $(BIN)/softground || $(MAKE) --no-print-directory setup EXTRAS=robots
	@$(BIN)/softground demo

# A taste of every layer, for the habit of running it: what is fast, and fails first when something basic breaks.
QUICK_TESTS := tests/test_layers.py tests/contact/test_linear.py tests/contact/test_step_against_qp.py \
  $(filter-out %/test_invariants.py %/test_feet.py,$(wildcard tests/robots/test_*.py)) tests/surfaces/test_bad_input.py \
  $(addprefix tests/media/test_,fields.py lemma.py resistive_stress.py soles.py wedge.py wedge_forces.py wrench_space.py) \
  $(addprefix tests/simulation/test_,controllers.py free_flight.py) \
  $(addprefix tests/runs/test_,cost_of_transport.py metrics.py old_files.py running.py) \
  $(addprefix tests/control/test_,foot_motion.py pid.py terrain_classification.py) \
  $(addprefix tests/control/walking/test_,dcm.py footsteps.py pattern.py swing.py) \
  $(addprefix tests/control/whole_body/test_,contact_doubt.py solvers.py tasks.py) \
  $(addprefix tests/experiments/test_,campaign_plan.py converters.py convexity.py database.py dem_path.py protocol.py) \
  tests/planning/test_objectives.py tests/planning/test_refusals.py \
  tests/bridges/test_viewer_parts.py tests/bridges/test_viewer_footprints.py \
  tests/papers/test_chen2026_rolling.py tests/papers/test_reproduce.py tests/papers/test_zhu2021_foot_size.py

quick: lint ## Check style and run the fast tests of every layer
	@$(JAX_ENV) $(BIN)/pytest -q -n 2 --dist worksteal $(QUICK_TESTS)

# worksteal: neighbouring tests, which share compiled functions, stay on one worker.
# Types are checked beside the first tests, since pyright keeps one core busy.
test: lint ## Check style and types, and run the tests, but for those of test-slow
	@$(BIN)/pyright & types=$$!; \
	  $(JAX_ENV) $(BIN)/pytest -q -n 2 --dist worksteal -m "not slow"; tests=$$?; \
	  wait $$types && exit $$tests

# What waits for other programs: a browser, pushes into a bed of LAMMPS, nodes of Ray, trainings of other libraries.
test-slow: setup ## Run the tests that wait for other programs
	@$(JAX_ENV) $(BIN)/pytest -q -n 2 --dist worksteal -m slow

# The environment is that of constraints.txt, with another MuJoCo before it on the path: loading and dynamics, a step with
# our ground in it, a callback, Gymnasium's robots, and a picture.
MUJOCO4       := 4.0.0
MUJOCO4_FILES := $(CURDIR)/$(VENV)/mujoco-$(MUJOCO4)
MUJOCO4_TESTS := tests/robots/test_loading.py tests/robots/test_joints.py tests/robots/test_dynamics_against_mujoco.py \
  tests/robots/test_frames.py tests/bridges/test_mujoco_ground.py tests/bridges/test_mujoco_ground_physics.py \
  tests/bridges/test_gymnasium.py tests/bridges/test_animation.py
MUJOCO4_CHOICE := not under_servos and not stable_and_gives and not by_hand and not programs and not our_tasks and not mjx

test-mujoco4: setup ## Run what depends on MuJoCo with MuJoCo 4
	@test -d $(MUJOCO4_FILES) || { rm -rf $(MUJOCO4_FILES).part; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(MUJOCO4_FILES).part \
	    mujoco==$(MUJOCO4) mujoco-core==$(MUJOCO4) && mv $(MUJOCO4_FILES).part $(MUJOCO4_FILES); }
	@PYTHONPATH=$(MUJOCO4_FILES) $(BIN)/python -c 'import mujoco; assert mujoco.__version__ == "$(MUJOCO4)", mujoco.__version__'
	@PYTHONPATH=$(MUJOCO4_FILES) $(JAX_ENV) $(BIN)/pytest -q -n 2 --dist worksteal -k "$(MUJOCO4_CHOICE)" $(MUJOCO4_TESTS)

lint: setup ## Check style
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet || { echo "Some files are not formatted: run make format" >&2; exit 1; }

format: setup ## Format the code and repair what ruff can
	@$(BIN)/ruff check --fix --quiet
	@$(BIN)/ruff format

clean: ## Remove caches and build outputs, and .venv
	rm -rf $(VENV) .jax_cache .pytest_cache .ruff_cache .hypothesis build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
