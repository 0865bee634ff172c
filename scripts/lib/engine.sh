# shellcheck shell=bash
# A Docker engine that answers, where one can be had. Doing without is never a failure: the local
# backend takes over.

engine_log=/var/log/mysqlprof-dockerd.log
dockerd_pid_file=/var/run/docker.pid
containerd_pid_file=/var/run/docker/containerd/containerd.pid
engine_pid="" # of the dockerd that start_engine started itself, without an init system

# engine_state: prints answers | denied | none.
engine_state() {
  "$venv/bin/python" -I - "${DOCKER_HOST:-unix:///var/run/docker.sock}" <<'PYTHON'
import socket
import sys

address = sys.argv[1].removeprefix("unix://")
if "://" in address:  # somewhere else: not ours to start, and the client will tell
    sys.exit(print("answers"))
try:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        client.connect(address)
        client.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
        reply = client.recv(64)
except PermissionError:
    print("denied")
except OSError:
    print("none")
else:
    print("answers" if b" 200 " in reply else "none")
PYTHON
}

# An engine elsewhere, or one that runs already, needs nothing installed here.
need_engine() {
  [ -n "${DOCKER_HOST:-}" ] || [ -S /var/run/docker.sock ] || need docker.io have dockerd
}

start_engine() {
  case $(engine_state) in
    answers) return ;;
    denied)
      say "Docker's socket is not open to $(id -un); the local backend takes over"
      printf '  to use Docker: sudo usermod -aG docker %s, then log in again\n' "$(id -un)" >&2
      return
      ;;
  esac
  if [ -n "${DOCKER_HOST:-}" ] || ! have dockerd || ! can_be_root; then
    say "no Docker engine answers here, and none can be started; the local backend takes over"
    return
  fi
  if [ -d /run/systemd/system ]; then
    quietly "starting the Docker engine" as_root systemctl start docker || true
  else
    start_dockerd
  fi
  if wait_for_engine; then
    [ -z "$engine_pid" ] || say "started dockerd (process $engine_pid, its log is $engine_log)"
  else
    say "the Docker engine did not start (see $engine_log); the local backend takes over"
    as_root tail -n 3 "$engine_log" 2>/dev/null | sed 's/^/  | /' >&2 || true
    stop_engine
  fi
}

start_dockerd() {
  # Installing docker.io may have started one through an init script, which answers in a moment.
  [ "$(name_of_process_in "$dockerd_pid_file")" != dockerd ] || return 0
  forget_unless "$dockerd_pid_file" dockerd
  forget_unless "$containerd_pid_file" containerd
  # shellcheck disable=SC2016
  engine_pid=$(as_root sh -c 'setsid dockerd >"$1" 2>&1 </dev/null & echo $!' sh "$engine_log")
}

name_of_process_in() {
  local pid
  pid=$(as_root cat "$1" 2>/dev/null) && cat "/proc/$pid/comm" 2>/dev/null
}

# After a crash or a reboot the number in a pid file may be another program's, and dockerd then
# refuses to start, or waits for a containerd that is none.
forget_unless() {
  [ "$(name_of_process_in "$1")" = "$2" ] || as_root rm -f -- "$1"
}

wait_for_engine() {
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    case $(engine_state) in
      answers) return ;;
      denied) return 1 ;;
    esac
    [ -z "$engine_pid" ] || [ -d "/proc/$engine_pid" ] || return 1
    sleep 0.3
  done
  return 1
}

# Only the one that start_engine started, by its id.
stop_engine() {
  [ -n "$engine_pid" ] && [ -d "/proc/$engine_pid" ] || return 0
  # The shell's own kill: the program is in a package that small systems lack.
  # shellcheck disable=SC2016
  as_root sh -c 'kill "$1"' sh "$engine_pid" 2>/dev/null || return 0
  local tries
  for ((tries = 0; tries < 60; tries++)); do
    [ -d "/proc/$engine_pid" ] || return 0
    sleep 0.25
  done
}
