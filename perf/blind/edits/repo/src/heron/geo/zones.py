"""Service zones, no-parking zones and distances."""
from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Iterable, NamedTuple

EARTH_RADIUS_M = 6_371_008.8
ZONE_FILE = Path("data/zones.geojson")
GPS_SLACK_M = 12.0


class Point(NamedTuple):
    lat: float
    lon: float


def haversine_m(a: Point, b: Point) -> float:
    phi_a, phi_b = math.radians(a.lat), math.radians(b.lat)
    d_phi = phi_b - phi_a
    d_lambda = math.radians(b.lon - a.lon)
    h = math.sin(d_phi / 2) ** 2
    h += math.cos(phi_a) * math.cos(phi_b) * math.sin(d_lambda / 2) ** 2
    return 2 * EARTH_RADIUS_M * math.asin(math.sqrt(h))


def point_in_ring(point: Point, ring: list[Point]) -> bool:
    def crosses(a: Point, b: Point) -> bool:
        if (a.lat > point.lat) == (b.lat > point.lat):
            return False
        slope = (b.lon - a.lon) / (b.lat - a.lat)
        return point.lon < a.lon + slope * (point.lat - a.lat)

    inside = False
    for first, second in zip(ring, ring[1:] + ring[:1]):
        if crosses(first, second):
            inside = not inside
    return inside


@dataclass
class Zone:
    name: str
    ring: list[Point]
    allows_parking: bool = True
    speed_limit_kmh: int = 20

    def contains(self, lat: float, lon: float) -> bool:
        return point_in_ring(Point(lat, lon), self.ring)

    def nearest_corner(self, point: Point) -> Point:
        return min(self.ring, key=lambda corner: haversine_m(point, corner))

    @classmethod
    def from_feature(cls, feature: dict) -> "Zone":
        properties = feature["properties"]
        ring = [Point(lat, lon) for lon, lat in feature["geometry"]["coordinates"][0]]
        return cls(
            name=properties["name"],
            ring=ring,
            allows_parking=properties.get("parking", True),
            speed_limit_kmh=properties.get("limit", 20),
        )


@lru_cache(maxsize=1)
def load_zones(path: Path = ZONE_FILE) -> tuple[Zone, ...]:
    features = json.loads(path.read_text(encoding="utf-8"))["features"]
    return tuple(Zone.from_feature(feature) for feature in features)


def may_park(point: Point, zones: Iterable[Zone]) -> bool:
    for zone in zones:
        if zone.allows_parking:
            continue
        if zone.contains(point.lat, point.lon):
            return False
        if haversine_m(point, zone.nearest_corner(point)) < GPS_SLACK_M:
            return False
    return True
