package front

import (
	"net"
	"net/http"
	"regexp"
	"strings"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// hostPrefix begins the names of the Services that the chart makes, one for each product.
const hostPrefix = "cloudgateway-"

// productOf finds the product that a request is for. The name that the tool calls says it, as "cloudgateway-ecs" or "ecs" at its
// beginning; the version has to be one of the product's. Any other name leaves it to the version.
func productOf(host, version string) (openapi.Product, error) {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	label, _, _ := strings.Cut(strings.ToLower(host), ".")
	name, ours := strings.CutPrefix(label, hostPrefix)
	product, known := openapi.ProductOf(version)
	switch {
	case ours && !openapi.IsShared(name):
		return "", refuse(http.StatusNotFound, "InvalidProduct.NotFound", "the gateway serves no product "+bounded(name))
	case !known:
		return "", refuse(http.StatusBadRequest, "InvalidVersion",
			"Specified parameter Version is not valid, or of a product that the gateway does not serve.")
	case openapi.IsShared(name) && openapi.Product(name) != product:
		return "", refuse(http.StatusBadRequest, "InvalidVersion", "Specified parameter Version is of "+string(product)+
			", and the name that was called is that of "+name+".")
	}
	return product, nil
}

// plainPath has nothing that could be encoded in two ways, nor anything that leads elsewhere.
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$`)

// byPath finds the action of a request with a path. If the tool names one, it has to be that.
func (req *request) byPath() error {
	action, known := openapi.ActionOf(req.method, req.path)
	switch {
	case !known:
		return refuse(http.StatusNotFound, "InvalidAction.NotFound", "the gateway does not pass on "+req.method+" of this path")
	case req.action != "" && req.action != action:
		return refuse(http.StatusBadRequest, "InvalidAction.NotFound", "x-acs-action is not "+action+", which the path is of")
	}
	req.action = action
	return nil
}
