module mysqlprof/driverhost

go 1.18

require github.com/go-sql-driver/mysql v1.7.1
