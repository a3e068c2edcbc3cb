module github.com/adjourn/adjourn-go

go 1.19
