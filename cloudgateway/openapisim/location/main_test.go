package location_test

import (
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/location"
)

func TestMain(m *testing.M) { apitest.Main(m, location.Product(nil)) }
