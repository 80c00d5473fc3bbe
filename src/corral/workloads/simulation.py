"""Simulated work as its engine takes it."""

from corral.engines.tasks import SimulatedUse, Simulation
from corral.workloads.spec import WorkSpec


def simulation_of(spec: WorkSpec) -> Simulation | None:
    if spec.simulation is None:
        return None
    usage = spec.simulation.usage
    used = SimulatedUse(usage.cpu_milli, usage.memory_mib, usage.gpu_percent, usage.gpu_memory_mib)
    return Simulation(spec.simulation.duration, spec.simulation.exit_code, used)
