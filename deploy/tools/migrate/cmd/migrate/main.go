// Command migrate writes values of the chart from the settings of the existing cloud controller manager. It needs no
// credentials, and has none.
package main

import (
	"context"
	"fmt"
	"os"

	"alicloud-controllers.dev/deploy/tools/migrate"
)

func main() {
	if err := migrate.Command(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
