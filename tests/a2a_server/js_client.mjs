// A conversation through the published JavaScript client: stream, push, send and cancel.
// Run as: node js_client.mjs BASE_URL TRANSPORT PUSH_URL

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(join(process.cwd(), "index.js"));
const sdk = await import(pathToFileURL(require.resolve("@a2a-js/sdk/client")));
const { Role, TaskState } = await import(pathToFileURL(require.resolve("@a2a-js/sdk")));

const [url, transport, pushUrl] = process.argv.slice(2);
const transports = {
  JSONRPC: new sdk.JsonRpcTransportFactory(),
  "HTTP+JSON": new sdk.RestTransportFactory(),
};
const factory = new sdk.ClientFactory({
  transports: [transports[transport]],
  preferredTransports: [transport],
});
const client = await factory.createFromUrl(url);

function request(text, ids = {}, configuration = undefined) {
  return {
    tenant: "",
    message: {
      messageId: crypto.randomUUID(),
      contextId: "",
      taskId: "",
      role: Role.ROLE_USER,
      parts: [
        { content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" },
      ],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...ids,
    },
    configuration,
    metadata: undefined,
  };
}

const pushed = {
  acceptedOutputModes: [],
  returnImmediately: false,
  taskPushNotificationConfig: {
    tenant: "", id: "", taskId: "", url: pushUrl, token: "js", authentication: undefined,
  },
};
const kinds = [];
let streamed = "";
let task;
for await (const event of client.sendMessageStream(request("ask", { contextId: "js" }, pushed))) {
  kinds.push(event.payload.$case);
  if (event.payload.$case === "task") task = event.payload.value;
}
for await (const event of client.sendMessageStream(
  request("pieces", { contextId: task.contextId, taskId: task.id }),
)) {
  if (event.payload.$case === "artifactUpdate") {
    streamed += event.payload.value.artifact.parts.map((part) => part.content.value).join("");
  }
}
const done = await client.getTask({ tenant: "", id: task.id });
const asked = await client.sendMessage(request("ask", { contextId: "js" }));
const parked = asked.payload?.value ?? asked;
const canceled = await client.cancelTask({ tenant: "", id: parked.id, metadata: undefined });
console.log(
  JSON.stringify({
    kinds,
    streamed,
    done: TaskState[done.status.state] ?? done.status.state,
    canceled: TaskState[canceled.status.state] ?? canceled.status.state,
  }),
);
