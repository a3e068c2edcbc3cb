module github.com/adjourn/adjourn-go/adjournotel

go 1.19

require (
	github.com/adjourn/adjourn-go v0.1.0
	go.opentelemetry.io/otel v1.1.0
	go.opentelemetry.io/otel/sdk v1.1.0
	go.opentelemetry.io/otel/trace v1.1.0
)

require golang.org/x/sys v0.0.0-20210423185535-09eb48e85fd7 // indirect

replace github.com/adjourn/adjourn-go => ../
