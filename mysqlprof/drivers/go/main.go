// Runs SQL through go-sql-driver/mysql on request. The protocol is described in hosted.py.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const module = "github.com/go-sql-driver/mysql"

var background = context.Background()

// One connection. A sql.DB would take another one when the first is lost, and so would its
// statements; a sql.Conn does not.
type session struct {
	pool       *sql.DB
	connection *sql.Conn
	statement  *sql.Stmt // nil when the driver writes the values into the text
	text       string
	values     []any
}

var sessions = map[string]*session{}

func main() {
	requests := bufio.NewReader(os.Stdin)
	for {
		line, err := requests.ReadString('\n')
		if err != nil {
			return
		}
		fields := strings.Split(strings.TrimRight(line, "\n"), "\t")
		reply, err := answer(fields)
		if err != nil {
			message := strings.Join(strings.Fields(err.Error()), " ")
			reply = fmt.Sprintf("ERR\t%T\t%s", err, message)
		}
		fmt.Println(reply)
		if fields[0] == "QUIT" {
			return
		}
	}
}

func answer(fields []string) (string, error) {
	switch fields[0] {
	case "OPEN":
		return open(fields[1], fields[2], fields[3])
	case "QUIT":
		return "OK", nil
	}
	if len(fields) < 2 || sessions[fields[1]] == nil {
		return "", errors.New("unknown request or session")
	}
	s := sessions[fields[1]]
	switch fields[0] {
	case "PREPARE":
		return s.prepare(fields[2], fields[3], fields[4] == "server")
	case "EXECUTE":
		return s.execute()
	case "CLOSE":
		delete(sessions, fields[1])
		return "OK", s.close()
	}
	return "", errors.New("unknown request " + fields[0])
}

func open(id, dataSourceName, loginFile string) (string, error) {
	config, err := mysql.ParseDSN(dataSourceName)
	if err != nil {
		return "", err
	}
	login, err := readLines(loginFile)
	if err != nil {
		return "", err
	}
	config.User, config.Passwd = login[0], login[1]
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return "", err
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(1)
	connection, err := pool.Conn(background)
	if err != nil {
		pool.Close()
		return "", err
	}
	sessions[id] = &session{pool: pool, connection: connection}
	return "OK\t" + module + "\t" + moduleVersion(), nil
}

func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == module {
				return dependency.Version
			}
		}
	}
	return "unknown"
}

func (s *session) prepare(sqlFile, valuesFile string, onServer bool) (string, error) {
	text, err := os.ReadFile(sqlFile)
	if err != nil {
		return "", err
	}
	s.text = string(text)
	if s.values, err = readValues(valuesFile); err != nil {
		return "", err
	}
	if !onServer {
		return "OK\t0", nil
	}
	start := time.Now()
	s.statement, err = s.connection.PrepareContext(background, s.text)
	elapsed := time.Since(start)
	return fmt.Sprintf("OK\t%d", elapsed.Nanoseconds()), err
}

func (s *session) execute() (string, error) {
	var result sql.Result
	var err error
	start := time.Now()
	if s.statement != nil {
		result, err = s.statement.ExecContext(background, s.values...)
	} else {
		result, err = s.connection.ExecContext(background, s.text, s.values...)
	}
	elapsed := time.Since(start)
	if err != nil {
		return "", err
	}
	affected, err := result.RowsAffected()
	return fmt.Sprintf("OK\t%d\t%d", elapsed.Nanoseconds(), affected), err
}

func (s *session) close() error {
	if s.statement != nil {
		s.statement.Close()
	}
	s.connection.Close()
	return s.pool.Close()
}

func readValues(path string) ([]any, error) {
	lines, err := readLines(path)
	if err != nil {
		return nil, err
	}
	kinds := strings.Split(lines[0], "\t")
	values := make([]any, 0, len(kinds)*(len(lines)-1))
	for _, line := range lines[1:] {
		for column, text := range strings.Split(line, "\t") {
			value, err := parse(kinds[column], text)
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
	}
	return values, nil
}

// Times are in UTC, the driver's default, so that they arrive as they are. Go has no decimal type:
// its users send text.
func parse(kind, text string) (any, error) {
	switch kind {
	case "long":
		return strconv.ParseInt(text, 10, 64)
	case "datetime":
		return time.Parse("2006-01-02 15:04:05", text)
	case "date":
		return time.Parse("2006-01-02", text)
	case "decimal", "text":
		return text, nil
	}
	return nil, errors.New("unknown kind " + kind)
}

func readLines(path string) ([]string, error) {
	content, err := os.ReadFile(path)
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n"), err
}
