package eip

import (
	"testing"
	"time"
)

// TestEndOfAnEip: only one that is paid in advance has an end, whatever the cloud says of others.
func TestEndOfAnEip(t *testing.T) {
	for charge, want := range map[string]string{"PrePaid": "2027-01-02T16:00:00Z", "PostPaid": ""} {
		got := ""
		e, err := decode([]byte(`{"ChargeType":"` + charge + `","ExpiredTime":"2027-01-02T16:00Z"}`))
		if err != nil {
			t.Fatal(err)
		}
		if end := e.GetExpirationTime(); end != nil {
			got = end.AsTime().Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s: ends %q, want %q", charge, got, want)
		}
	}
}
