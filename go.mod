module github.com/posixtrace/posixtrace

go 1.26
