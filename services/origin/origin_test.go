package origin

import (
	"net"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1",
		"[2001:db8::1]:80": "2001:db8::/64", "[2001:db8::ffff:2]:81": "2001:db8::/64", "[fe80::1%eth0]:80": "fe80::/64",
	} {
		a, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if got := Of(a); got != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
	if got := Of(&net.UnixAddr{Name: "socket", Net: "unix"}); got != "socket" {
		t.Errorf("a socket is %s", got)
	}
}
