package rpc

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if of := os.Getenv(siegeOf); of != "" {
		var address string
		var connections int
		if _, err := fmt.Sscan(of, &address, &connections); err != nil {
			panic(err)
		}
		length, err := time.ParseDuration(os.Getenv(siegeLength))
		if err != nil {
			panic(err)
		}
		besiege(address, connections, length)
		return
	}
	goleak.VerifyTestMain(m)
}
