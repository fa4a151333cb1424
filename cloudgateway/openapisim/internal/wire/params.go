package wire

import (
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// CheckParams checks the parameters of a request against the table of the action. An empty value counts as not sent.
// Parameters that the table doesn't name are ignored, as the cloud does. JSON is left to the handlers: what they take for JSON
// is lenient, and many have a code of their own for what is not.
func CheckParams(table []api.Param, params api.Params, settings *api.Settings) *api.Error {
	for i := range table {
		if err := checkParam(&table[i], params, settings); err != nil {
			return err
		}
	}
	return nil
}

func checkParam(p *api.Param, params api.Params, settings *api.Settings) *api.Error {
	switch p.Kind {
	case api.Strings, api.Structs:
		return checkItems(p, params, settings)
	case api.String, api.Int, api.Bool, api.JSON:
	}
	value := params.Get(p.Name)
	if value == "" {
		if p.Required {
			return missing(p, p.Name)
		}
		return nil
	}
	switch p.Kind {
	case api.Int:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return InvalidParameter(p.Name, "%q is no number", value)
		}
		if (p.Min != 0 || p.Max != 0) && (n < p.Min || n > p.Max) {
			return InvalidParameter(p.Name, "%d is not in %d…%d", n, p.Min, p.Max)
		}
	case api.Bool:
		if !strings.EqualFold(value, "true") && !strings.EqualFold(value, "false") {
			return InvalidParameter(p.Name, "%q is neither true nor false", value)
		}
	case api.String, api.JSON, api.Strings, api.Structs:
	}
	if len(p.Enum) > 0 && !slices.Contains(p.Enum, value) {
		return InvalidParameter(p.Name, "%q is none of %s", value, strings.Join(p.Enum, ", "))
	}
	return nil
}

// missing is the action's own error, or the common one.
func missing(p *api.Param, name string) *api.Error {
	if p.Missing != nil {
		return p.Missing
	}
	return api.Missing(name)
}

func checkItems(p *api.Param, params api.Params, settings *api.Settings) *api.Error {
	var values []string
	count := 0
	if p.Kind == api.Strings {
		values = params.List(p.Name)
		count = len(values)
	} else {
		count = len(params.Items(p.Name))
	}
	if count == 0 {
		if p.Required {
			return missing(p, p.Name+".1")
		}
		return nil
	}
	if most := p.Most(settings); (p.Min != 0 || most != 0) && (int64(count) < p.Min || int64(count) > most) {
		return InvalidParameter(p.Name, "%d items are not in %d…%d", count, p.Min, most)
	}
	for _, value := range values {
		if len(p.Enum) > 0 && !slices.Contains(p.Enum, value) {
			return InvalidParameter(p.Name, "%q is none of %s", value, strings.Join(p.Enum, ", "))
		}
	}
	return nil
}
