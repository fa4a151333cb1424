package world

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/deploy/chart"
)

// Configure writes the configuration that the chart renders for a component, and returns the file. Only what a pod finds elsewhere than a
// process of this machine is replaced: addresses and files.
func (w *World) Configure(component string, rendered []byte) (string, error) {
	var cfg section
	if err := yaml.UnmarshalStrict(rendered, &cfg); err != nil {
		return "", fmt.Errorf("read the configuration of %s: %w", component, err)
	}
	local, err := w.componentSection(component)
	if err != nil {
		return "", err
	}
	for _, key := range []string{"kubernetes", "gateway", "listen", "tls", "authentication", "credentials", "endpoints", "scheme"} {
		if value, ok := local[key]; ok {
			cfg[key] = value
		}
	}
	spec, err := w.ours(component, component, cfg)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.specs[component] = spec
	return w.configFile(component), nil
}

// Install starts a component with its latest configuration, and waits until it is ready.
func (w *World) Install(ctx context.Context, component string) error {
	if w.Process(component) != nil {
		return w.Restart(ctx, component)
	}
	w.mu.Lock()
	spec, ok := w.specs[component]
	if ok && component != "cloudgateway" {
		w.cfg.Controllers = append(w.cfg.Controllers, component)
	}
	w.mu.Unlock()
	if !ok {
		return fmt.Errorf("install %s: it has no configuration", component)
	}
	return w.run(ctx, spec)
}

// componentSection is what a component of a world has in its configuration.
func (w *World) componentSection(component string) (section, error) {
	if component == "cloudgateway" {
		return w.gatewaySection(component), nil
	}
	if !slices.Contains(chart.Components(), component) {
		return nil, fmt.Errorf("configure %s: it is not one of %v", component, chart.Components())
	}
	return w.controllerSection(component), nil
}
