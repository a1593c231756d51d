// Program collector is an OpenTelemetry Collector with the components that docs/fleet/collector.yaml
// uses. It is what the Collector's builder makes of such a list: the components are those of the
// project, unchanged.
package main

import (
	"fmt"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"
	"go.opentelemetry.io/collector/processor/memorylimiterprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
)

func factories() (f otelcol.Factories, err error) {
	if f.Receivers, err = receiver.MakeFactoryMap(otlpreceiver.NewFactory()); err != nil {
		return f, err
	}
	f.Processors, err = processor.MakeFactoryMap(batchprocessor.NewFactory(), memorylimiterprocessor.NewFactory())
	if err != nil {
		return f, err
	}
	f.Exporters, err = exporter.MakeFactoryMap(otlpexporter.NewFactory(), otlphttpexporter.NewFactory())
	return f, err
}

func main() {
	command := otelcol.NewCommand(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector", Description: "OpenTelemetry Collector", Version: "0.119.0"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory()},
			DefaultScheme:     "env",
		}},
	})
	if err := command.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "collector:", err)
		os.Exit(1)
	}
}
