package openapisim

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/keys"
)

// AccessKey is a key of the account. A key may call everything but what Deny names.
type AccessKey struct {
	ID       string `json:"id"`
	Secret   string `json:"secret"`
	Disabled bool   `json:"disabled,omitempty"`
	// Deny are actions that the key may not call, as patterns of product:action: "slb:DeleteLoadBalancer", "vpc:*", "*:Delete*".
	Deny []string `json:"deny,omitempty"`
}

// Validate reports every mistake in the key.
func (k *AccessKey) Validate() error {
	var problems []error
	if k.ID == "" || k.Secret == "" {
		problems = append(problems, errors.New("id and secret are required"))
	}
	for i, pattern := range k.Deny {
		product, action, ok := strings.Cut(pattern, ":")
		if _, err := path.Match(pattern, ""); !ok || product == "" || action == "" || err != nil {
			problems = append(problems, fmt.Errorf("deny[%d]: %q is no pattern of product:action; an example of one is slb:Delete*", i, pattern))
		}
	}
	return errors.Join(problems...)
}

func denied(key keys.Key, product, action string) bool {
	for _, pattern := range key.Deny {
		if matches, _ := path.Match(pattern, product+":"+action); matches {
			return true
		}
	}
	return false
}

// forbidden is how a product refuses a caller that has no right to an action. The words differ.
func forbidden(product string) *api.Error {
	code, text := "Forbidden.RAM", "User not authorized to operate on the specified resource, or this API doesn't support RAM."
	switch product {
	case "nlb":
		code, text = "Forbidden.NoPermission", "Authentication is failed for NoPermission."
	case "sts":
		code, text = "NoPermission", "You are not authorized to do this action. You should be authorized by RAM."
	}
	return &api.Error{Status: http.StatusForbidden, Code: code, Message: text}
}
