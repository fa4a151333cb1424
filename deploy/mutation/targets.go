package main

import (
	"fmt"
	"path/filepath"
)

// target is a package that decides. With files, only these of its files are changed.
type target struct {
	module, pkg string
	files       []string
}

func (t target) path() string { return t.module + "/" + t.pkg }

// targets lists the packages whose mistakes lose, leak or delete a user's resources, or let in a caller that may not call. Those of the gateway
// that look at requests beyond what the protocol says of their fields are found by their file.
func targets(root string) ([]target, error) {
	list := []target{
		{module: "lbcontroller", pkg: "internal/lb/desired"},
		{module: "lbcontroller", pkg: "internal/lb/plan"},
		{module: "lbcontroller", pkg: "internal/lb/ownership"},
		{module: "lbcontroller", pkg: "internal/lb/reuse"},
		{module: "routecontroller", pkg: "internal/plan"},
		{module: "routecontroller", pkg: "internal/table"},
		{module: "nodecontroller", pkg: "internal/lifecycle"},
		{module: "nodecontroller", pkg: "internal/initialize"},
		{module: "cloudgateway", pkg: "internal/authn"},
		{module: "cloudgateway", pkg: "internal/authz"},
		{module: "cloudgateway", pkg: "internal/check"},
		{module: "cloudgateway", pkg: "internal/openapi/catalogue", files: []string{"catalogue.go", "table.go"}},
	}
	const checks = "check.go"
	found, err := filepath.Glob(filepath.Join(root, "cloudgateway/internal/*/*", checks))
	if err != nil {
		return nil, fmt.Errorf("find the packages: %w", err)
	}
	for _, file := range found {
		pkg, err := filepath.Rel(filepath.Join(root, "cloudgateway"), filepath.Dir(file))
		if err != nil {
			return nil, fmt.Errorf("find the packages: %w", err)
		}
		list = append(list, target{module: "cloudgateway", pkg: pkg, files: []string{checks}})
	}
	return list, nil
}
