"""Simulated work as its engine takes it."""

from corral.engines.tasks import SimulatedUse, Simulation
from corral.workloads.documents import Document


def simulation_of(document: Document) -> Simulation | None:
    if document.simulation is None:
        return None
    simulation = document.simulation
    usage = simulation.usage
    used = SimulatedUse(usage.cpu_milli, usage.memory_mib, usage.gpu_percent, usage.gpu_memory_mib)
    return Simulation(simulation.duration, simulation.exit_code, used)
