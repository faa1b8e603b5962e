import { client, withRetry } from "../api/client";

export enum TripPhase {
  Reserved = "reserved",
  Riding = "riding",
  Paused = "paused",
  Ended = "ended",
}

export interface Trip {
  id: string;
  scooterId: string;
  phase: TripPhase;
  startedAt: number;
  distanceM: number;
  costCents: number;
}

export type TripAction =
  | { type: "loaded"; trips: Trip[] }
  | { type: "phase"; id: string; phase: TripPhase }
  | { type: "progress"; id: string; distanceM: number; costCents: number }
  | { type: "reset" };

export interface TripState {
  byId: Record<string, Trip>;
  order: string[];
  stale: boolean;
}

export const emptyState: TripState = { byId: {}, order: [], stale: true };

/** Newest trips come first. */
export function tripReducer(state: TripState, action: TripAction): TripState {
  switch (action.type) {
    case "loaded": {
      const trips = [...action.trips].sort((a, b) => b.startedAt - a.startedAt);
      return {
        byId: Object.fromEntries(trips.map((trip) => [trip.id, trip])),
        order: trips.map((trip) => trip.id),
        stale: false,
      };
    }
    case "phase": {
      const trip = state.byId[action.id];
      if (!trip || trip.phase === TripPhase.Ended) {
        return state;
      }
      return { ...state, byId: { ...state.byId, [trip.id]: { ...trip, phase: action.phase } } };
    }
    case "progress": {
      const trip = state.byId[action.id];
      if (!trip) {
        return { ...state, stale: true };
      }
      const { distanceM, costCents } = action;
      return { ...state, byId: { ...state.byId, [trip.id]: { ...trip, distanceM, costCents } } };
    }
    case "reset":
      return emptyState;
  }
}

// a rider has at most one of these
export const selectActive = (state: TripState): Trip | undefined =>
  state.order.map((id) => state.byId[id]).find((trip) => trip.phase !== TripPhase.Ended);

export const selectTotalCents = (state: TripState): number =>
  Object.values(state.byId).reduce((sum, trip) => sum + trip.costCents, 0);

export class TripStore {
  private state = emptyState;
  private listeners = new Set<(state: TripState) => void>();

  get current(): TripState {
    return this.state;
  }

  dispatch(action: TripAction): void {
    const next = tripReducer(this.state, action);
    if (next === this.state) {
      return;
    }
    this.state = next;
    this.listeners.forEach((listener) => listener(next));
  }

  subscribe(listener: (state: TripState) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async load(): Promise<void> {
    const trips = await withRetry(() => client.request<Trip[]>("/trips?limit=50"));
    this.dispatch({ type: "loaded", trips });
  }
}
