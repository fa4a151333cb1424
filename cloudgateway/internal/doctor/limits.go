package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
)

// limits compares the rate limits that the gateway takes the account to have with those in Quota Center. The gateway works without: it
// learns limits that are lower. So nothing here is a failure.
func (x *examination) limits(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, limitsTimeout)
	defer cancel()
	const check = "rate limits"
	if x.refused {
		x.report.add(check, Skipped, "", "needs credentials")
		return
	}
	used := x.limited()
	var quotas []quota
	for _, product := range openapi.Products() {
		if !slices.ContainsFunc(used, func(l limited) bool { return l.product == product }) {
			continue
		}
		some, err := x.quotas(ctx, product)
		switch {
		case rpcerr.ReasonOf(err) == rpcerr.CloudForbidden:
			x.report.add(check, Skipped, "", "not compared with Quota Center: quotas:ListProductQuotas is not permitted; "+
				"for that, attach the policy deploy/ram-policies/%s.json to %s", rampolicy.RateLimits, x.who)
			return
		case err != nil:
			x.report.add(check, Skipped, "", "not compared with Quota Center: %s", text(err))
			return
		}
		quotas = append(quotas, some...)
	}
	x.report.Findings = append(x.report.Findings, judge(check, used, quotas)...)
}

// limited is an action that the gateway calls, and the limit that it takes the account to have.
type limited struct {
	product openapi.Product
	action  string
	limit   flow.Limit
}

// limited are the actions of the features.
func (x *examination) limited() []limited {
	var all []limited
	for _, row := range rampolicy.Rows() {
		limit, known := x.Limits[string(row.Product)+"/"+row.Action]
		if feature, _ := x.feature(row); known && feature != "" {
			all = append(all, limited{row.Product, row.Action, limit})
		}
	}
	return all
}

// quota is a rate limit of the account.
type quota struct {
	product openapi.Product
	// code and name are Quota Center's. One of them has the name of the API in it.
	code, name string
	// region is empty, or "*", for a quota of all regions.
	region string
	limit  flow.Limit
}

// quotas reads the account's rate limits of a product in the region.
func (x *examination) quotas(ctx context.Context, product openapi.Product) ([]quota, error) {
	list := cloud.Listing[quota]{Action: "ListProductQuotas", Items: "Quotas", Decode: readQuota, MaxResults: 100}
	params := cloud.Params{"ProductCode": string(product), "QuotaCategory": "FlowControl"}.
		Items("Dimensions", []map[string]string{{"Key": "regionId", "Value": x.OpenAPI.Region}})
	all, err := list.All(ctx, cloud.API{Product: openapi.Quotas, Caller: x.caller}, params)
	all = slices.DeleteFunc(all, func(q quota) bool { return !slices.Contains([]string{"", "*", x.OpenAPI.Region}, q.region) })
	for i := range all {
		all[i].product = product
	}
	return all, err
}

// readQuota reads a quota. One that is no number of calls in a window, such as one of a unit of time that nobody has heard of, has no
// calls.
func readQuota(item []byte) (quota, error) {
	var q quota
	total, value, unit := "", "", ""
	err := cloud.Decode(item, cloud.Fields{
		"QuotaActionCode": &q.code, "QuotaName": &q.name, "Dimensions": cloud.Fields{"regionId": &q.region}, "TotalQuota": &total,
		"Period": cloud.Fields{"PeriodValue": &value, "PeriodUnit": &unit},
	})
	if err != nil {
		return quota{}, err
	}
	calls, callsErr := strconv.ParseFloat(total, 64)
	units, unitsErr := strconv.Atoi(value)
	of := map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}
	window := time.Duration(units) * of[strings.TrimSuffix(strings.ToLower(unit), "s")]
	if callsErr == nil && unitsErr == nil && calls >= 1 && calls < 1e9 && window > 0 {
		q.limit = flow.Limit{Calls: int(calls), Window: window}
	}
	return q, nil
}

// of reports whether a quota is that of an action: its code or its name is the action's, or has it among other words.
func (q quota) of(l limited) bool {
	words := strings.FieldsFunc(q.code+" "+q.name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	return q.product == l.product && q.limit.Calls > 0 && slices.Contains(words, l.action)
}

// judge compares limits with quotas. The first finding, called check, says how many could be compared.
func judge(check string, used []limited, quotas []quota) []Finding {
	var found []Finding
	var absent []string
	for _, l := range used {
		key := string(l.product) + "/" + l.action
		account, known := flow.Limit{}, false
		for _, q := range quotas {
			if q.of(l) && (!known || within(q.limit, account.Window) < float64(account.Calls)) { // The lowest, should there be several.
				account, known = q.limit, true
			}
		}
		if !known {
			absent = append(absent, key)
			continue
		}
		result := compare(l.limit, account)
		if result == OK {
			continue
		}
		set := override(account)
		todo := fmt.Sprintf("Set budget.overrides.%s to {calls: %d, window: %.0fs}", key, set.Calls, set.Window.Seconds())
		if result == Warning {
			todo += ": beyond that the cloud refuses calls."
		} else {
			todo += ", and the gateway uses what the account has."
		}
		found = append(found, Finding{"rate limit " + key, result, fmt.Sprintf("the gateway keeps to %s, the account has %s", shown(l.limit),
			shown(account)), todo})
	}
	summary := Finding{Check: check, Result: OK}
	summary.Detail = fmt.Sprintf("%d compared with Quota Center, %d differ", len(used)-len(absent), len(found))
	switch {
	case len(absent) == len(used):
		summary = Finding{Check: check, Result: Skipped, Detail: "not compared: Quota Center has none of those that the gateway keeps to"}
	case len(absent) > 0:
		summary.Detail += "; not in Quota Center: " + strings.Join(absent, ", ")
	}
	return append([]Finding{summary}, found...)
}

func shown(l flow.Limit) string { return fmt.Sprintf("%d calls in %.0fs", l.Calls, l.Window.Seconds()) }

// compare says what it means that the account has another limit than the gateway keeps to: the gateway may send more in the account's
// window than the account has (Warning), it leaves some of it unused (Hint), or neither (OK).
func compare(ours, account flow.Limit) Result {
	switch {
	case within(ours, account.Window) > float64(account.Calls):
		return Warning
	case rate(account) > rate(ours):
		return Hint
	}
	return OK
}

// rate is the number of calls a second.
func rate(l flow.Limit) float64 { return float64(l.Calls) / l.Window.Seconds() }

// within is how many calls a limit lets through in a window at most: of a longer window of its own, all may come at once.
func within(l flow.Limit, window time.Duration) float64 {
	return float64(l.Calls) * max(1, window.Seconds()/l.Window.Seconds())
}

// override is the greatest limit in a window that the configuration takes, 1s or 60s, which does not exceed another limit.
func override(l flow.Limit) flow.Limit {
	window := time.Minute
	if l.Window < time.Minute && rate(l) >= 1 {
		window = time.Second
	}
	calls := float64(l.Calls) * min(1, window.Seconds()/l.Window.Seconds())
	return flow.Limit{Calls: max(1, int(calls)), Window: window}
}
