'use strict';

// The generated clients and their runtime: version 3 of the signature, and answers cast to types.

const assert = require('node:assert');
const test = require('node:test');
const { admin } = require('./network');
const $OpenApi = require('@alicloud/openapi-core');
const $dara = require('@darabonba/typescript');
const $Ecs = require('@alicloud/ecs20140526');
const $Vpc = require('@alicloud/vpc20160428');
const $Sts = require('@alicloud/sts20150401');

const { keys, region } = require('./account');

const config = (more) => new $OpenApi.$OpenApiUtil.Config({ ...keys, regionId: region, ...more });
const runtime = { readTimeout: 20000 };

// refused checks the class of an error and everything that users quote from it to the cloud's support.
async function refused(call, kind, status, code) {
  const error = await call.then(() => assert.fail(`not refused with ${code}`), (e) => e);
  assert.ok(error instanceof kind, error.stack);
  assert.strictEqual(error.code, code, error.stack);
  assert.strictEqual(error.statusCode, status);
  assert.match(error.requestId, /^[0-9A-F-]{36}$/);
  assert.match(error.message, new RegExp(`code: ${status}, .+ request id: ${error.requestId}$`, 's'));
  assert.match(error.data.HostId, /\.aliyuncs\.com$/);
}

test('VPC: networks, routes, addresses and tags', async () => {
  const client = new $Vpc.default(config());
  const regionId = region;
  const { body: made } = await client.createVpc(new $Vpc.CreateVpcRequest({ regionId, cidrBlock: '172.16.0.0/16', vpcName: 'ü*~+ &=' }));
  const { vpcId } = made;
  const { body: vswitch } = await client.createVSwitch(
    new $Vpc.CreateVSwitchRequest({ regionId, vpcId, zoneId: 'cn-hangzhou-h', cidrBlock: '172.16.1.0/24' }));
  await client.tagResources(new $Vpc.TagResourcesRequest({
    regionId, resourceType: 'VPC', resourceId: [vpcId], tag: [new $Vpc.TagResourcesRequestTag({ key: 'k', value: 'ü' })],
  }));
  const { body: listed } = await client.describeVpcs(
    new $Vpc.DescribeVpcsRequest({ regionId, tag: [new $Vpc.DescribeVpcsRequestTag({ key: 'k', value: 'ü' })] }));
  assert.strictEqual(listed.totalCount, 1);
  assert.ok(listed.vpcs.vpc[0] instanceof $Vpc.DescribeVpcsResponseBodyVpcsVpc);
  assert.strictEqual(listed.vpcs.vpc[0].vpcName, 'ü*~+ &=');
  assert.deepStrictEqual(listed.vpcs.vpc[0].vSwitchIds.vSwitchId, [vswitch.vSwitchId]);
  await client.unTagResources(new $Vpc.UnTagResourcesRequest({ regionId, resourceType: 'VPC', resourceId: [vpcId], tagKey: ['k'] }));
  const { body: tags } = await client.listTagResources(new $Vpc.ListTagResourcesRequest({ regionId, resourceType: 'VPC', resourceId: [vpcId] }));
  assert.deepStrictEqual(tags.tagResources.tagResource, []);
  await refused(client.deleteVpc(new $Vpc.DeleteVpcRequest({ regionId, vpcId })), $OpenApi.ClientError, 400, 'DependencyViolation.VSwitch');
  await client.deleteVSwitch(new $Vpc.DeleteVSwitchRequest({ regionId, vSwitchId: vswitch.vSwitchId }));
  await client.deleteVpc(new $Vpc.DeleteVpcRequest({ regionId, vpcId }));

  const { body: tables } = await client.describeRouteTableList(new $Vpc.DescribeRouteTableListRequest({ regionId, vpcId: 'vpc-1' }));
  const { routeTableId } = tables.routerTableList.routerTableListType[0];
  const entries = ['i-1', 'i-unknown'].map((nextHop, n) => new $Vpc.CreateRouteEntriesRequestRouteEntries({
    routeTableId, dstCidrBlock: `10.0.${n}.0/24`, nextHop, nextHopType: 'Instance', name: nextHop,
  }));
  const { body: routes } = await client.createRouteEntries(new $Vpc.CreateRouteEntriesRequest({ regionId, routeEntries: entries }));
  assert.strictEqual(routes.successCount, 1);
  assert.strictEqual(routes.failedRouteEntries[0].nextHop, 'i-unknown');
  const { body: shown } = await client.describeRouteEntryList(
    new $Vpc.DescribeRouteEntryListRequest({ regionId, routeTableId, routeEntryType: 'Custom' }));
  assert.deepStrictEqual(shown.routeEntrys.routeEntry.map((e) => [e.destinationCidrBlock, e.nextHops.nextHop[0].nextHopId]), [['10.0.0.0/24', 'i-1']]);
  const gone = new $Vpc.DeleteRouteEntriesRequestRouteEntries({ routeTableId, dstCidrBlock: '10.0.0.0/24', nextHop: 'i-1' });
  await client.deleteRouteEntries(new $Vpc.DeleteRouteEntriesRequest({ regionId, routeEntries: [gone] }));

  const { body: eip } = await client.allocateEipAddress(new $Vpc.AllocateEipAddressRequest({ regionId, bandwidth: '5' }));
  const { allocationId } = eip;
  await client.associateEipAddress(new $Vpc.AssociateEipAddressRequest({ regionId, allocationId, instanceId: 'i-2' }));
  const { body: eips } = await client.describeEipAddresses(new $Vpc.DescribeEipAddressesRequest({ regionId, allocationId }));
  assert.deepStrictEqual(eips.eipAddresses.eipAddress.map((e) => [e.status, e.instanceId, e.bandwidth]), [['InUse', 'i-2', '5']]);
  await client.unassociateEipAddress(new $Vpc.UnassociateEipAddressRequest({ regionId, allocationId }));
  await client.releaseEipAddress(new $Vpc.ReleaseEipAddressRequest({ regionId, allocationId }));
});

test('ECS: instances, interfaces, security groups and tags', async () => {
  const client = new $Ecs.default(config());
  const regionId = region;
  const { body: instances } = await client.describeInstances(new $Ecs.DescribeInstancesRequest({ regionId, instanceIds: '["i-1","i-x"]' }));
  assert.strictEqual(instances.totalCount, 1);
  const [instance] = instances.instances.instance;
  assert.deepStrictEqual(instance.vpcAttributes.privateIpAddress.ipAddress, ['192.168.0.11']);
  assert.strictEqual(instance.status, 'Running');
  const { body: interfaces } = await client.describeNetworkInterfaces(
    new $Ecs.DescribeNetworkInterfacesRequest({ regionId, instanceId: 'i-1', privateIpAddress: ['192.168.0.11'] }));
  assert.strictEqual(interfaces.networkInterfaceSets.networkInterfaceSet[0].privateIpSets.privateIpSet[0].primary, true);

  const { body: group } = await client.createSecurityGroup(
    new $Ecs.CreateSecurityGroupRequest({ regionId, vpcId: 'vpc-1', securityGroupName: 'web' }));
  const { securityGroupId } = group;
  const permissions = [new $Ecs.AuthorizeSecurityGroupRequestPermissions({ ipProtocol: 'TCP', portRange: '80/80', sourceCidrIp: '0.0.0.0/0' })];
  await client.authorizeSecurityGroup(new $Ecs.AuthorizeSecurityGroupRequest({ regionId, securityGroupId, permissions }));
  const { body: rules } = await client.describeSecurityGroupAttribute(new $Ecs.DescribeSecurityGroupAttributeRequest({ regionId, securityGroupId }));
  assert.deepStrictEqual(rules.permissions.permission.map((p) => [p.portRange, p.policy, p.priority]), [['80/80', 'Accept', '1']]);
  await client.deleteSecurityGroup(new $Ecs.DeleteSecurityGroupRequest({ regionId, securityGroupId }));

  await client.tagResources(new $Ecs.TagResourcesRequest({
    regionId, resourceType: 'instance', resourceId: ['i-1', 'i-2'], tag: [new $Ecs.TagResourcesRequestTag({ key: 'k', value: 'v' })],
  }));
  const { body: tags } = await client.listTagResources(
    new $Ecs.ListTagResourcesRequest({ regionId, resourceType: 'instance', resourceId: ['i-1', 'i-2'] }));
  assert.strictEqual(tags.tagResources.tagResource.length, 2);
  await client.untagResources(new $Ecs.UntagResourcesRequest({ regionId, resourceType: 'instance', resourceId: ['i-1', 'i-2'], all: true }));
  await refused(client.deleteInstance(new $Ecs.DeleteInstanceRequest({ instanceId: 'i-1' })), $OpenApi.ClientError, 403, 'IncorrectInstanceStatus');
});

// The typed client of SLB is not published; this is the call that it would make.
const slb = (client, action, params, more) => client.callApi(
  new $OpenApi.$OpenApiUtil.Params({
    action, version: '2014-05-15', protocol: 'HTTPS', pathname: '/', method: 'POST', authType: 'AK', style: 'RPC',
    reqBodyType: 'formData', bodyType: 'json', ...more,
  }),
  new $OpenApi.$OpenApiUtil.OpenApiRequest(more?.form ? { body: params } : { query: $OpenApi.OpenApiUtil.query(params) }), runtime);

test('SLB: parameters in the query and in the form', async () => {
  const client = new $OpenApi.default(config({ endpoint: `slb.${region}.aliyuncs.com` }));
  for (const form of [false, true]) {
    const name = `ü!'()*~+ &= ${form}`;
    const { body: made } = await slb(client, 'CreateLoadBalancer', {
      RegionId: region, LoadBalancerName: name, InstanceChargeType: 'PayByCLCU', Tag: [{ Key: 'form', Value: `${form}` }],
    }, { form });
    const { body: found } = await slb(client, 'DescribeLoadBalancers', { RegionId: region, Tag: [{ Key: 'form', Value: `${form}` }] }, { form, method: 'POST' });
    assert.strictEqual(found.LoadBalancers.LoadBalancer[0].LoadBalancerName, name);
    await slb(client, 'DeleteLoadBalancer', { RegionId: region, LoadBalancerId: made.LoadBalancerId }, { form });
  }
  const { body: regions, statusCode } = await slb(client, 'DescribeRegions', {}, { method: 'GET' });
  assert.strictEqual(statusCode, 200);
  assert.strictEqual(regions.Regions.Region[0].RegionId, region);
  await refused(slb(client, 'DescribeLoadBalancerAttribute', { LoadBalancerId: 'lb-x' }), $OpenApi.ClientError, 404, 'InvalidLoadBalancerId.NotFound');
  const thief = new $OpenApi.default(config({ endpoint: `slb.${region}.aliyuncs.com`, accessKeySecret: 'wrong' }));
  await refused(slb(thief, 'DescribeRegions', {}), $OpenApi.ClientError, 400, 'SignatureDoesNotMatch');
});

test('STS: identity and roles', async () => {
  const client = new $Sts.default(config());
  const { body: assumed } = await client.assumeRole(
    new $Sts.AssumeRoleRequest({ roleArn: 'acs:ram::1000000000000001:role/reader', roleSessionName: 'session', durationSeconds: 900 }));
  const session = new $Sts.default(config({
    accessKeyId: assumed.credentials.accessKeyId, accessKeySecret: assumed.credentials.accessKeySecret, securityToken: assumed.credentials.securityToken,
  }));
  const { body: identity } = await session.getCallerIdentity();
  assert.strictEqual(identity.arn, 'acs:ram::1000000000000001:assumed-role/reader/session');
  const wrong = new $Sts.AssumeRoleRequest({ roleArn: 'wrong', roleSessionName: 'session' });
  await refused(client.assumeRole(wrong), $OpenApi.ClientError, 400, 'InvalidParameter.RoleArn');
});

test('errors of the server and throttling have classes of their own', async () => {
  const client = new $Ecs.default(config());
  const call = () => client.describeRegions(new $Ecs.DescribeRegionsRequest({}));
  await admin('PUT', 'faults', { faults: [{ product: 'ecs', action: 'DescribeRegions', error: { status: 503, code: 'ServiceUnavailable', message: 'Busy.' }, times: 1 }] });
  await refused(call(), $OpenApi.ServerError, 503, 'ServiceUnavailable');
  await admin('DELETE', 'faults');

  const { actions } = await admin('GET', 'limits');
  const name = 'ecs/DescribeRegions';
  const limit = (window) => admin('PUT', 'limits', { enabled: true, retryAfterHeader: true, actions: { [name]: { calls: 2, window } } });
  try {
    await limit('1h'); // windows end by the clock: three calls are hardly ever in two of them
    const answers = await Promise.allSettled([call(), call(), call()]);
    const [error] = answers.filter((a) => a.status === 'rejected').map((a) => a.reason);
    assert.ok(error instanceof $OpenApi.ThrottlingError, error?.stack);
    assert.ok(error.retryAfter > 0 && error.retryAfter <= 3600001, `${error.retryAfter} ms`);
    await limit('1s');
    const patient = new $Ecs.default(config({
      retryOptions: new $dara.RetryOptions({ retryable: true, retryCondition: [{ maxAttempts: 5, exception: [], errorCode: ['Throttling'] }] }),
    }));
    await Promise.all([1, 2, 3].map(() => patient.describeRegions(new $Ecs.DescribeRegionsRequest({}))));
  } finally {
    await admin('PUT', 'limits', { enabled: false, retryAfterHeader: false, actions: { [name]: actions[name] } });
  }
});
