package wire

import (
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// CheckParams checks the parameters of a request against the table of the action, and writes enumerated values as the table
// does. An empty value counts as not sent. Parameters that the table doesn't name are ignored, as the cloud does. JSON is left to
// the handlers: what they take for JSON is lenient, and many have a code of their own for what is not. Malformed is the code for
// what has the wrong form; "" stands for InvalidParameter.
func CheckParams(malformed string, table []api.Param, params *api.Params, settings *api.Settings) *api.Error {
	c := checker{malformed, params, settings}
	for i := range table {
		name := table[i].Name
		if structure, _, ok := strings.Cut(name, "."); ok && c.Has(structure) {
			return c.invalid(structure, "%q is neither JSON nor members such as %s", c.Get(structure), name)
		}
		if err := c.check(&table[i], name); err != nil {
			return err
		}
	}
	return nil
}

type checker struct {
	malformed string
	*api.Params
	settings *api.Settings
}

// check checks a parameter, which can be a member of an item of another one.
func (c checker) check(p *api.Param, name string) *api.Error {
	switch p.Kind {
	case api.Strings, api.Structs:
		return c.checkItems(p, name)
	case api.String, api.Int, api.Bool, api.JSON:
	}
	value := c.Get(name)
	if value == "" {
		if p.Required {
			return missing(p, name)
		}
		return nil
	}
	switch p.Kind {
	case api.Int:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return c.invalid(name, "%q is no number", value)
		}
		if (p.Min != 0 || p.Max != 0) && (n < p.Min || n > p.Max) {
			return c.invalid(name, "%d is not in %d…%d", n, p.Min, p.Max)
		}
	case api.Bool:
		if !strings.EqualFold(value, "true") && !strings.EqualFold(value, "false") {
			return c.invalid(name, "%q is neither true nor false", value)
		}
	case api.String, api.JSON, api.Strings, api.Structs:
	}
	return c.checkEnum(p, name)
}

// checkEnum checks an enumerated value and writes it as the table does.
func (c checker) checkEnum(p *api.Param, name string) *api.Error {
	value := c.Get(name)
	if len(p.Enum) == 0 || slices.Contains(p.Enum, value) {
		return nil
	}
	i := slices.IndexFunc(p.Enum, func(known string) bool { return strings.EqualFold(known, value) })
	if i < 0 && p.Open {
		return nil
	}
	if i < 0 || c.settings.ExactCase {
		return c.invalid(name, "%q is none of %s", value, strings.Join(p.Enum, ", "))
	}
	c.Respell(name, p.Enum[i])
	return nil
}

func (c checker) checkItems(p *api.Param, name string) *api.Error {
	var names, prefixes []string
	if p.Kind == api.Strings {
		names = c.Names(name)
	} else {
		if value := c.Get(name); value != "" {
			return c.invalid(name, "%q is neither JSON nor members such as %s.1.Member", value, name)
		}
		prefixes = c.Prefixes(name)
	}
	count := len(names) + len(prefixes)
	if count == 0 {
		if p.Required {
			return missing(p, name+".1")
		}
		return nil
	}
	if most := p.Most(c.settings); (p.Min != 0 || most != 0) && (int64(count) < p.Min || int64(count) > most) {
		return c.invalid(name, "%d items are not in %d…%d", count, p.Min, most)
	}
	for _, item := range names {
		if err := c.checkEnum(p, item); err != nil {
			return err
		}
	}
	for _, prefix := range prefixes {
		for i := range p.Members {
			if err := c.check(&p.Members[i], prefix+p.Members[i].Name); err != nil {
				return err
			}
		}
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

// invalid is InvalidParameter with the code of the product.
func (c checker) invalid(name, hint string, args ...any) *api.Error {
	err := InvalidParameter(name, hint, args...)
	if c.malformed != "" {
		err.Code = c.malformed
	}
	return err
}
