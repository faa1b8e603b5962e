import React, { useMemo, useState } from "react";

import { formatDistance, formatDuration, formatMoney } from "../lib/format";
import { Trip, TripPhase } from "../state/tripStore";

export interface RideCardProps {
  trip: Trip;
  compact?: boolean;
  onEnd: () => void;
}

export const STATUS_COLORS: Record<TripPhase, string> = {
  reserved: "#8a6d00",
  riding: "#0b7a3b",
  paused: "#b35300",
  ended: "#5c6470",
};

const Badge = ({ phase }: { phase: TripPhase }) => (
  <span className="badge" style={{ color: STATUS_COLORS[phase] }}>
    {phase}
  </span>
);

export function RideCard({ trip, compact = false, onEnd }: RideCardProps) {
  const [confirming, setConfirming] = useState(false);
  const cost = useMemo(() => formatMoney(trip.costCents), [trip.costCents]);
  const seconds = Math.round((Date.now() - trip.startedAt) / 1000);

  const handleEnd = () => {
    if (!confirming) {
      setConfirming(true);
      return;
    }
    onEnd();
  };

  return (
    <article className={compact ? "ride ride--compact" : "ride"} data-trip={trip.id}>
      <Badge phase={trip.phase} />
      <dl>
        <dt>Distance</dt>
        <dd>{formatDistance(trip.distanceM)}</dd>
        <dt>Time</dt>
        <dd>{formatDuration(seconds)}</dd>
        {!compact && <dd className="cost">{cost}</dd>}
      </dl>
      <button type="button" className="ride__end" disabled={trip.phase === TripPhase.Ended} onClick={handleEnd}>
        {confirming ? "Really end the ride?" : "End ride"}
      </button>
    </article>
  );
}

export default React.memo(RideCard);
