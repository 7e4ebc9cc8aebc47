// Redfish and web services of BMCs.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose::tables {
namespace {

constexpr std::string_view kHmcSource =
    "AMI MegaRAC of DGX and HGX systems, registry Ami; github.com/dsx-ai-factory/infra-controller/issues/6412";

// clang-format off
constexpr Symptom kMachineRedfishSymptoms[] = {
    {"redfish-denied",        kError,   kCause, kAnyone, {".AccessDenied", "Base."}, "DMTF DSP8011, Base registry", "The BMC's Redfish service reports that access was denied"},
    {"redfish-no-session",    kError,   kCause, kAnyone, {"NoValidSession", "Base."}, "DMTF DSP8011, Base registry", "The BMC's Redfish service got a request without a valid login"},
    {"redfish-sessions-full", kError,   kCause, kAnyone, {"SessionLimitExceeded", "Base."}, "DMTF DSP8011, Base registry", "The BMC refuses a login: all its sessions are taken"},
    {"redfish-password",      kError,   kCause, kAnyone, {"PasswordChangeRequired", "Base."}, "DMTF DSP8011, Base registry", "The BMC gives this user nothing before its password is changed"},
    {"redfish-privilege",     kError,   kCause, kAnyone, {"InsufficientPrivilege", "Base."}, "DMTF DSP8011, Base registry", "The BMC's Redfish service denies the operation to this user"},
    {"redfish-read-only",     kError,   kCause, kAnyone, {"PropertyNotWritable", "Base."}, "DMTF DSP8011, Base registry", "The BMC's Redfish service does not let this property be set"},
    {"redfish-no-action",     kError,   kCause, kAnyone, {"ActionNotSupported", "Base."}, "DMTF DSP8011, Base registry", "The BMC's Redfish service does not have that action"},
    {"idrac-image-login",     kError,   kCause, kAnyone, {"necessary for downloading an update package were not correct"}, "Dell iDRAC, message registry, RED050", "The BMC could not fetch an update: the file server refuses its login"},

    // Lines that confirm or refute
    {"redfish-credentials",   kNote,    kSight, kAnyone, {"credentials included with this request are missing"}, "Dell iDRAC", "The request had no valid login"},
    {"redfish-connects",      kNote,    kSight, kAnyone, {"ttempting to establish a connection to", "denied access"}, "DMTF DSP8011, Base registry", "The BMC connected to another server"},
    {"host-power-on",       kNote,  kSight, kAnyone, {"PowerState\"", "\"On\""}, "DMTF DSP0266, ComputerSystem", "The host is on"},
    {"host-power-off",      kNote,  kSight, kAnyone, {"PowerState\"", "\"Off\""}, "DMTF DSP0266, ComputerSystem", "The host is off"},
    {"chassis-power-on",    kNote,  kSight, kAnyone, {"Chassis Power is on"}, "ipmitool chassis power status", "The host is on"},
    {"chassis-power-off",   kNote,  kSight, kAnyone, {"Chassis Power is off"}, "ipmitool chassis power status", "The host is off"},
};

constexpr Symptom kMachineRedfishLater[] = {
    {"redfish-no-hmc",      kError, kCause, kAnyone, {"fails to communicate with HMC"}, kHmcSource, "The BMC's Redfish service does not reach the controller of the GPU baseboard (HMC)"},
    {"redfish-no-hmc-id",   kError, kCause, kAnyone, {"Ami.", "HMCCommu"}, kHmcSource, "The BMC's Redfish service does not reach the controller of the GPU baseboard (HMC)"},
    {"redfish-no-resource", kError, kCause, kAnyone, {"ResourceMissingAtURI", "Base."}, "DMTF DSP8011, Base registry", "The BMC's Redfish service has nothing at that address"},
    {"chain-self-signed", kError, kCause, kAnyone, {"SSL certificate problem: self", "in certificate chain"}, "libcurl, error 60", "curl or git does not trust the server's certificate: its authority is not known here"},
    {"bmc-self-signed", kError, kCause, kAnyone, {"SSL certificate problem: self"}, "libcurl, error 60", "curl or git does not trust the server's certificate: it is self-signed"},
    {"bmc-sessions-full",     kError,   kCause, kAnyone, {"RAC0218"}, "Dell iDRAC, message registry", "The BMC refuses a login: all its sessions are taken"},
};

constexpr Hypothesis kMachineRedfishHypotheses[] = {
    {.id = "redfish-denied", .explains = {"redfish-denied"}, .common = kUsual, .refuted_by = {"redfish-connects"},
     .title = "The BMC's Redfish service refuses the login",
     .cause = "The login is missing, does not fit, or is of an account that is locked; or the BMC takes no name and password with each request.",
     .remedy = "curl -sku USER https://BMC/redfish/v1/Systems; the BMC's page: users, lockout. Some BMCs have users for Redfish apart from those of IPMI. iDRAC10 1.30.10.50 and newer: log in by a session, or set HTTP Basic Authentication to Enabled.",
     .settle_by = "the text of the message beside its MessageId",
     .source = "DMTF DSP8011; DSP0266; github.com/dell/iDRAC-Redfish-Scripting/issues/371"},
    {.id = "redfish-fetch-denied", .explains = {"redfish-denied"}, .needs = {"redfish-connects"}, .refuted_by = {"redfish-credentials"}, .decisive = true,
     .title = "Another server denied the BMC access (a server of images, a share)",
     .cause = "The BMC was to connect to the address in the message, and that server refused it.",
     .remedy = "Give name and password of that server in the body of the request (UserName, Password); check its rights and its log.",
     .settle_by = "the text of the message beside its MessageId",
     .source = "DMTF DSP8011"},
    {.id = "redfish-no-session", .explains = {"redfish-no-session"}, .stated = true,
     .cause = "The request had no login, or its token has expired or was of a session that ended.",
     .remedy = "Log in again (POST /redfish/v1/SessionService/Sessions, then X-Auth-Token), or send name and password with each request (curl -u).",
     .source = "DMTF DSP0266, Sessions"},
    {.id = "redfish-sessions-full", .explains = {"redfish-sessions-full"}, .stated = true,
     .cause = "Clients made sessions and did not delete them, and the BMC keeps each until its timeout.",
     .remedy = "GET /redfish/v1/SessionService/Sessions lists them, DELETE ends one and what it does; let tools use basic authentication or delete their session. A restart of the BMC ends all.",
     .source = "DMTF DSP0266, Sessions"},
    {.id = "redfish-password", .explains = {"redfish-password"}, .stated = true,
     .cause = "The password is right and has expired, or is the one of the factory, which has to be changed first.",
     .remedy = "PATCH the account of the message (@Message.ExtendedInfo, MessageArgs: /redfish/v1/AccountService/Accounts/ID) with {\"Password\": …} and the old login, or log in at the BMC's page.",
     .source = "DMTF DSP0266, Password change required"},
    {.id = "redfish-privilege", .explains = {"redfish-privilege"}, .stated = true,
     .cause = "The user's role lacks the privilege for that operation.",
     .remedy = "Use a user of the role Administrator (or Operator, for power); GET /redfish/v1/AccountService/Accounts shows roles. Some operations need a license of the BMC.",
     .source = "DMTF DSP8011"},
    {.id = "redfish-read-only", .explains = {"redfish-read-only"}, .stated = true,
     .cause = "This BMC shows the property and does not change it at this address.",
     .remedy = "Follow @Redfish.Settings of that resource: settings of the BIOS, for example, are set at …/Bios/Settings. A newer firmware of the BMC may offer it.",
     .source = "DMTF DSP0266, Settings resource"},
    {.id = "redfish-no-action", .explains = {"redfish-no-action"}, .stated = true,
     .cause = "The resource does not list that action, or the firmware of this BMC lacks it.",
     .remedy = "GET the resource and look at Actions (target, AllowableValues); update the BMC.",
     .source = "DMTF DSP8011"},
    {.id = "idrac-image-login", .explains = {"idrac-image-login"}, .stated = true,
     .cause = "The iDRAC fetched the file of ImageURI with a name and password that the file server does not take, or with none.",
     .remedy = "Give UserName and Password in the body of SimpleUpdate (iDRAC9; not within the address), or a server that needs none.",
     .source = "Dell iDRAC, RED050; github.com/dell/iDRAC-Redfish-Scripting/issues/165"},
    {.id = "hmc-host-off", .explains = {"redfish-no-hmc", "redfish-no-hmc-id"}, .common = kUsual, .needs = {"host-is-off"}, .refuted_by = {"host-is-on"},
     .title = "The BMC does not reach the GPU baseboard's controller (HMC), because the host is off",
     .cause = "The host is powered off, and the GPU baseboard with its HMC has no power then: the BMC answers 503 for HGX_Baseboard_0 and HGX_BMC_0. That is normal, and a program that needs those resources waits in vain.",
     .remedy = "Power the host on and ask again some minutes later; before that ask only for the host's own resources (Systems, Managers and Chassis without HGX in their names).",
     .settle_by = "PowerState of the host's own system (/redfish/v1/Systems/DGX); ipmitool chassis power status",
     .source = "github.com/dsx-ai-factory/infra-controller/issues/5418"},
    {.id = "hmc-silent", .explains = {"redfish-no-hmc", "redfish-no-hmc-id"}, .needs = {"host-is-on"}, .refuted_by = {"host-is-off"},
     .title = "The GPU baseboard's controller (HMC) does not answer the BMC although the host is on",
     .cause = "The host has power and the HMC does not answer: it still boots (some minutes after power on, longer after a firmware update), or hangs.",
     .remedy = "Ask again after ten minutes; then take the node's AC power off for a minute. If it stays, compare the firmware of BMC and HMC with the vendor's recipe, and report it.",
     .settle_by = "curl the BMC's /redfish/v1/Managers/HGX_BMC_0 every minute after power on",
     .source = "NVIDIA HGX firmware guides; github.com/dsx-ai-factory/infra-controller/issues/6412"},
    {.id = "redfish-no-resource", .explains = {"redfish-no-resource"}, .stated = true,
     .cause = "The BMC has no resource at the address of the request. Names differ between makers (Systems/1, Systems/System.Embedded.1, Systems/Self, Systems/HGX_Baseboard_0), and what a part does not have is not listed.",
     .remedy = "GET /redfish/v1/Systems (Chassis, Managers) lists them; follow its links.",
     .source = "DMTF DSP8011, Base registry"},
    {.id = "chain-self-signed", .explains = {"chain-self-signed"}, .stated = true,
     .cause = "The certificate was issued by an authority of its own, which this machine does not know: the site's, or that of a proxy that opens TLS.",
     .remedy = "openssl s_client -connect HOST:443 -showcerts </dev/null names it. Put the site's authority into /usr/local/share/ca-certificates and update-ca-certificates (/etc/pki/ca-trust/source/anchors, update-ca-trust); one nobody knows is not to be trusted.",
     .source = "libcurl, error 60"},
    {.id = "bmc-self-signed", .explains = {"bmc-self-signed"}, .stated = true,
     .cause = "The server's certificate is signed by itself, as that with which BMCs and appliances come.",
     .remedy = "curl -k for a look; better install the site's certificate on the server, or pin this one (--cacert).",
     .source = "libcurl, error 60"},
    {.id = "bmc-sessions-full", .explains = {"bmc-sessions-full"}, .common = kUsual, .stated = true,
     .cause = "iDRAC holds eight sessions of Redfish and its web page, and clients that log in without logging out keep theirs until they time out.",
     .remedy = "racadm getssninfo lists them, racadm closessn -a ends them. Have the client delete its session (DELETE on its Location), or use Basic.",
     .source = "Dell iDRAC, message RAC0218; github.com/bb-Ricardo/check_redfish/pull/198"},
};
// clang-format on

}  // namespace

Table machine_redfish() { return {kMachineRedfishSymptoms, kMachineRedfishHypotheses, kMachineRedfishLater}; }

}  // namespace railbed::diagnose::tables
