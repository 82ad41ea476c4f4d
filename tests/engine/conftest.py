"""Property tests without a clock: a loaded machine is no failure of ours."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("deadheat", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("deadheat")
