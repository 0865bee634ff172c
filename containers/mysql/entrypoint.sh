#!/bin/sh
# The contract of the official mysql image, for a scratch image that holds mysqld and busybox.
#
# Kept: MYSQL_ROOT_PASSWORD, MYSQL_DATABASE, MYSQL_USER, MYSQL_PASSWORD, MYSQL_ROOT_HOST, each also
# as *_FILE; MYSQL_ALLOW_EMPTY_PASSWORD, MYSQL_RANDOM_ROOT_PASSWORD, MYSQL_ONETIME_PASSWORD;
# /docker-entrypoint-initdb.d/*.sql and *.sql.gz; arguments beginning with "-" go to mysqld; any
# other command is run instead; a first start initialises behind a server without networking.
#
# Not kept, because the image holds no mysql client and no time zone data:
# - *.sql files are executed by mysqld's own --init-file: a statement ends with ";" at the end of
#   a line, holds at most 20,000 bytes before 8.0.18, and DELIMITER is unknown;
# - *.sh and files of other compressors end the start with an error, rather than being left out;
# - the time zone tables stay empty, as with MYSQL_INITDB_SKIP_TZINFO.
set -eu

say() { printf '%s [%s] [Entrypoint]: %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$1" "$2"; }
note() { say Note "$1"; }
warn() { say Warn "$1" >&2; }
die() {
    say ERROR "$1" >&2
    exit 1
}

# VAR from the file that VAR_FILE names, so that a secret need not be in the environment.
from_file() {
    eval "value=\${$1:-} path=\${$1_FILE:-}"
    if [ -n "$value" ] && [ -n "$path" ]; then
        die "Both $1 and $1_FILE are set (but are exclusive)"
    fi
    if [ -n "$path" ]; then
        value=$(cat "$path") || die "$1_FILE cannot be read: $path"
    fi
    eval "$1=\$value"
    unset "$1_FILE" value path
}

# printf is the shell's own: what it prints is on no process's command line.
string() { printf "'%s'" "$(printf '%s' "$1" | sed -e 's/\\/\\\\/g' -e "s/'/''/g" -e ':a' -e 'N' -e '$!ba' -e 's/\n/\\n/g')"; }
name() { printf '`%s`' "$(printf '%s' "$1" | sed 's/`/``/g')"; }

is_root() { [ "$(id -u)" = 0 ]; }

wants_help() {
    for argument; do
        case $argument in
            '-?' | --help | --print-defaults | -V | --version) return 0 ;;
        esac
    done
    return 1
}

# One run of --verbose --help both checks the configuration and tells the directories.
read_configuration() {
    if ! configuration=$("$@" --verbose --help 2>/tmp/entrypoint.errors); then
        cat /tmp/entrypoint.errors >&2
        die "mysqld failed while attempting to check config; command was: $*"
    fi
    rm -f /tmp/entrypoint.errors
    DATADIR=$(setting datadir)
    SOCKET=$(setting socket)
}

setting() {
    printf '%s\n' "$configuration" |
        awk -v wanted="$1" '$1 == wanted && /^[^ \t]/ { sub(/^[^ \t]+[ \t]+/, ""); print; exit }'
}

prepare_directories() {
    mkdir -p "$DATADIR" "$(dirname "$SOCKET")"
    if is_root; then
        find "$DATADIR" "$(dirname "$SOCKET")" ! -user mysql -exec chown mysql:mysql '{}' +
    fi
}

verify_environment() {
    if [ -z "$MYSQL_ROOT_PASSWORD${MYSQL_ALLOW_EMPTY_PASSWORD:-}${MYSQL_RANDOM_ROOT_PASSWORD:-}" ]; then
        die 'Database is uninitialized and password option is not specified
    You need to specify one of the following as an environment variable:
    - MYSQL_ROOT_PASSWORD
    - MYSQL_ALLOW_EMPTY_PASSWORD
    - MYSQL_RANDOM_ROOT_PASSWORD'
    fi
    if [ "$MYSQL_USER" = root ]; then
        die 'MYSQL_USER="root": MYSQL_USER and MYSQL_PASSWORD are for a regular user, not for root'
    fi
    if [ -n "$MYSQL_USER" ] && [ -z "$MYSQL_PASSWORD" ]; then
        warn 'MYSQL_USER specified, but missing MYSQL_PASSWORD; MYSQL_USER will not be created'
    elif [ -z "$MYSQL_USER" ] && [ -n "$MYSQL_PASSWORD" ]; then
        warn 'MYSQL_PASSWORD specified, but missing MYSQL_USER; MYSQL_PASSWORD will be ignored'
    fi
    for file in /docker-entrypoint-initdb.d/*; do
        case $file in
            *.sh | *.sql.bz2 | *.sql.xz | *.sql.zst)
                die "$file: this image holds no mysql client and runs only *.sql and *.sql.gz" ;;
        esac
    done
}

accounts_sql() {
    password=$(string "$MYSQL_ROOT_PASSWORD")
    echo "ALTER USER 'root'@'localhost' IDENTIFIED BY $password;"
    echo "GRANT ALL ON *.* TO 'root'@'localhost' WITH GRANT OPTION;"
    if [ "$MYSQL_ROOT_HOST" != localhost ]; then
        account="'root'@$(string "$MYSQL_ROOT_HOST")"
        echo "CREATE USER $account IDENTIFIED BY $password;"
        echo "GRANT ALL ON *.* TO $account WITH GRANT OPTION;"
    fi
    echo "DROP DATABASE IF EXISTS test;"
    if [ -n "$MYSQL_DATABASE" ]; then
        echo "CREATE DATABASE IF NOT EXISTS $(name "$MYSQL_DATABASE");"
    fi
    if [ -n "$MYSQL_USER" ] && [ -n "$MYSQL_PASSWORD" ]; then
        account="$(string "$MYSQL_USER")@'%'"
        echo "CREATE USER $account IDENTIFIED BY $(string "$MYSQL_PASSWORD");"
        if [ -n "$MYSQL_DATABASE" ]; then
            # "_" is a wildcard in the database name of a GRANT.
            echo "GRANT ALL ON $(name "$MYSQL_DATABASE" | sed 's/_/\\_/g').* TO $account;"
        fi
    fi
}

files_sql() {
    if [ -n "$MYSQL_DATABASE" ]; then
        echo "USE $(name "$MYSQL_DATABASE");"
    fi
    for file in /docker-entrypoint-initdb.d/*; do
        case $file in
            *.sql) note "running $file" >&2; cat "$file" ;;
            *.sql.gz) note "running $file" >&2; gunzip -c "$file" ;;
            '/docker-entrypoint-initdb.d/*') ;;
            *) warn "ignoring $file" ;;
        esac
        echo
    done
}

setup_sql() {
    echo "SET autocommit = 1;"
    echo "SET @@SESSION.SQL_LOG_BIN = 0;"
    # The quoting above relies on backslash escapes.
    echo "SET @@SESSION.sql_mode = '';"
    accounts_sql
    echo "SET @@SESSION.sql_mode = @@GLOBAL.sql_mode;"
    files_sql
    if [ -n "${MYSQL_ONETIME_PASSWORD:-}" ]; then
        echo "ALTER USER 'root'@$(string "$MYSQL_ROOT_HOST") PASSWORD EXPIRE;"
    fi
    # Held back by mysqld until it has started, then a clean end.
    echo "SHUTDOWN;"
}

# In the background, because the shell sees SIGTERM only while it waits.
run() {
    "$@" &
    child=$!
    status=0
    wait "$child" || status=$?
    child=
    return "$status"
}

stop() {
    trap '' TERM INT
    if [ -n "$child" ]; then
        kill -TERM "$child" 2>/dev/null || true
        wait "$child" || true
    fi
    exit 143
}

# A half-made data directory would pass for a finished one at the next start.
undo() {
    rm -f "$init_file" "$temporary_log"
    if [ -n "$unfinished" ]; then
        find "$DATADIR" -mindepth 1 -maxdepth 1 -exec rm -rf '{}' +
    fi
}

# A statement that fails ends the init file, yet not the server: only its log tells. Fails, and
# asks the server ($1) to end, when one did.
watch_statements() {
    executing= failed=
    while IFS= read -r line && [ "$line" != "$end_of_log" ]; do
        printf '%s\n' "$line" >&2
        case $executing$line in
            *'Execution of init_file'*started*) executing=yes ;;
            yes*'[ERROR]'*) failed=yes ;;
            *'Execution of init_file'*ended*)
                executing=
                if [ -n "$failed" ]; then kill -TERM "$1"; fi
                ;;
        esac
    done
    [ -z "$failed" ]
}

# Executes the init file, whose last statement is SHUTDOWN.
run_temporary_server() {
    # Held open for reading and writing: mysqld closes its log and opens it again at start, and
    # that must not pass for its end, which is a line of its own.
    exec 3<>"$temporary_log"
    end_of_log='end of the log of the temporary server'
    "$@" --skip-networking --default-time-zone=SYSTEM --init-file="$init_file" \
        --log-error="$temporary_log" --log-error-verbosity=3 2>&3 3>&- &
    child=$!
    watch_statements "$child" <&3 &
    watcher=$!
    status=0
    wait "$child" || status=$?
    child=
    printf '\n%s\n' "$end_of_log" >&3
    exec 3>&-
    wait "$watcher" || die 'A statement of the initialisation failed; see the [ERROR] above'
    if [ "$status" != 0 ]; then die "The temporary server failed with status $status"; fi
}

first_start() {
    verify_environment
    if [ -n "${MYSQL_RANDOM_ROOT_PASSWORD:-}" ]; then
        MYSQL_ROOT_PASSWORD=$(head -c 18 /dev/urandom | base64)
        note "GENERATED ROOT PASSWORD: $MYSQL_ROOT_PASSWORD"
    fi
    # In memory where possible: the init file holds the passwords.
    private=/dev/shm
    if [ ! -w "$private" ]; then private=/tmp; fi
    init_file=$private/init.sql temporary_log=$private/temporary.log
    child= unfinished=yes
    trap undo EXIT
    trap stop TERM INT

    note 'Initializing database files'
    run "$@" --initialize-insecure --default-time-zone=SYSTEM || die 'Initialisation failed'
    note 'Database files initialized'

    (umask 077 && setup_sql >"$init_file")
    mkfifo -m 600 "$temporary_log"
    if is_root; then chown mysql:mysql "$init_file" "$temporary_log"; fi
    note 'Starting temporary server'
    run_temporary_server "$@"
    note 'MySQL init process done. Ready for start up.'

    unfinished=
    undo
    trap - EXIT TERM INT
}

case ${1:-} in
    -*) set -- mysqld "$@" ;;
esac

if [ "${1:-}" = mysqld ] && ! wants_help "$@"; then
    note "Entrypoint script for MySQL Server ${MYSQL_VERSION:-} started."
    # Last, because --defaults-file must stay the first option.
    if is_root; then set -- "$@" --user=mysql; fi
    read_configuration "$@"
    MYSQL_ROOT_HOST=${MYSQL_ROOT_HOST:-}
    for variable in MYSQL_ROOT_HOST MYSQL_DATABASE MYSQL_USER MYSQL_PASSWORD MYSQL_ROOT_PASSWORD; do
        from_file "$variable"
    done
    MYSQL_ROOT_HOST=${MYSQL_ROOT_HOST:-%}
    prepare_directories
    if [ ! -d "$DATADIR/mysql" ]; then first_start "$@"; fi
    unset MYSQL_ROOT_PASSWORD MYSQL_PASSWORD
fi

exec "$@"
