export const LOCALE = "de-DE";
export const METERS_PER_KM = 1000;

export type Unit = "m" | "km";

const UNIT_LABELS: Record<Unit, string> = {
  m: "m",
  km: "km",
};

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const pad = (value: number): string => String(value).padStart(2, "0");

export const formatMoney = (cents: number): string =>
  new Intl.NumberFormat(LOCALE, { style: "currency", currency: "EUR" }).format(cents / 100);

export function formatDistance(meters: number): string {
  if (meters < METERS_PER_KM) {
    return `${Math.round(meters / 10) * 10} ${UNIT_LABELS.m}`;
  }
  const km = meters / METERS_PER_KM;
  return `${km.toLocaleString(LOCALE, { maximumFractionDigits: 1 })} ${UNIT_LABELS.km}`;
}

export function formatDuration(seconds: number): string {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  if (hours === 0) {
    return `${minutes}:${pad(Math.floor(seconds % 60))}`;
  }
  return `${hours}:${pad(minutes)} h`;
}

export const maskPhone = (phone: string): string => phone.replace(/\d(?=\d{3})/g, "*");
