// Runs SQL through mysql2 on request. The protocol is described in hosted.py.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import mysql from "mysql2";

const sessions = new Map();
const read = (path) => readFileSync(path, "utf8");
const readLines = (path) => read(path).replace(/\n$/, "").split("\n");
const product = new URL("node_modules/mysql2/package.json", import.meta.url);

const answers = {
  async OPEN(id, uri, loginFile) {
    const [user, password] = readLines(loginFile);
    const connection = mysql.createConnection({ uri, user, password });
    // Without a listener, the loss of an idle connection would end this process.
    connection.on("error", () => {});
    await new Promise((resolve, reject) =>
      connection.connect((error) => (error ? reject(error) : resolve())),
    );
    sessions.set(id, { connection });
    return ["mysql2", JSON.parse(read(product)).version];
  },

  async PREPARE(id, sqlFile, valuesFile, side) {
    const session = sessions.get(id);
    session.sql = read(sqlFile);
    session.values = readValues(valuesFile);
    if (side === "client") return [0];
    const [elapsed, statement] = await timed((done) =>
      session.connection.prepare(session.sql, done),
    );
    session.statement = statement;
    return [elapsed];
  },

  async EXECUTE(id) {
    const { connection, statement, sql, values } = sessions.get(id);
    const [elapsed, result] = await timed((done) =>
      statement ? statement.execute(values, done) : connection.query(sql, values, done),
    );
    return [elapsed, result.affectedRows];
  },

  async CLOSE(id) {
    const session = sessions.get(id);
    sessions.delete(id);
    if (session) await ended(session.connection);
    return [];
  },

  async QUIT() {
    return [];
  },
};

// [nanoseconds, result] of one call with a callback.
function timed(call) {
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint();
    call((error, result) => {
      const elapsed = process.hrtime.bigint() - start;
      error ? reject(error) : resolve([elapsed, result]);
    });
  });
}

// A connection that was lost may never say that it ended.
function ended(connection) {
  return new Promise((resolve) => {
    const patience = setTimeout(finish, 500);
    connection.end(finish);
    function finish() {
      clearTimeout(patience);
      connection.destroy();
      resolve();
    }
  });
}

function readValues(path) {
  const [kinds, ...rows] = readLines(path).map((line) => line.split("\t"));
  return rows.flatMap((row) => row.map((text, column) => parse(kinds[column], text)));
}

// JavaScript has no decimal type: its users send text, so that no digit is lost.
function parse(kind, text) {
  switch (kind) {
    case "long":
      return Number(text);
    case "datetime":
      return new Date(`${text.replace(" ", "T")}Z`);
    case "date":
      return new Date(`${text}T00:00:00Z`);
    case "decimal":
    case "text":
      return text;
    default:
      throw new Error(`unknown kind ${kind}`);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [request, ...fields] = line.split("\t");
  let reply;
  try {
    reply = ["OK", ...(await answers[request](...fields))];
  } catch (error) {
    reply = ["ERR", error.code ?? error.name, error.message.replace(/\s+/g, " ").trim()];
  }
  process.stdout.write(`${reply.join("\t")}\n`);
  if (request === "QUIT") break;
}
// Connections that are still open would keep this process alive.
process.exit(0);
