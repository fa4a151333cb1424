package vpc_test

import (
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/vpc"
)

func TestMain(m *testing.M) { apitest.Main(m, vpc.Product()) }
