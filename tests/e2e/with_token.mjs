// Adds the daemon's token to what the protocol's test suite sends, which has no option for it.
import { subscribe } from "node:diagnostics_channel";

const token = `Bearer ${process.env.TOKEN}`;

subscribe("undici:request:create", ({ request }) => request.addHeader("authorization", token));
subscribe("http.client.request.created", ({ request }) => request.setHeader("authorization", token));
