/* A libnvidia-ml.so.1 for tests: keeps the documented contract (reference-counted init, argument and buffer
 * checks, error codes) for the few calls that discovery and sampling make. No card has a power meter.
 *
 *   FAKE_NVML_DEVICES  "model=MiB;model=MiB"; a size of "lost" is a card that has fallen off the bus
 *   FAKE_NVML_INIT     error code that init returns
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4,
    INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15, ARGUMENT_VERSION_MISMATCH = 25,
    UNKNOWN = 999
};

typedef int nvmlReturn_t;
typedef struct device { char model[96]; char uuid[96]; unsigned long long mib; int lost; } *nvmlDevice_t;
typedef struct { unsigned long long total, free, used; } nvmlMemory_t;
typedef struct { unsigned int version; unsigned long long total, reserved, free, used; } nvmlMemory_v2_t;

static struct device devices[16];
static unsigned int device_count;
static int users;

static void read_devices(void) {
    const char *text = getenv("FAKE_NVML_DEVICES");
    char copy[2048], *rest = copy, *entry;
    device_count = 0;
    if (!text) return;
    snprintf(copy, sizeof copy, "%s", text);
    while ((entry = strsep(&rest, ";")) && device_count < 16) {
        char *size = strchr(entry, '=');
        struct device *device = &devices[device_count];
        if (!size) continue;
        *size++ = 0;
        snprintf(device->model, sizeof device->model, "%s", entry);
        snprintf(device->uuid, sizeof device->uuid, "GPU-00000000-0000-4000-8000-%012u", device_count);
        device->lost = strcmp(size, "lost") == 0;
        device->mib = strtoull(size, NULL, 10);
        device_count++;
    }
}

static nvmlReturn_t copy_out(const char *from, char *to, unsigned int length) {
    if (!users) return UNINITIALIZED;
    if (!to) return INVALID_ARGUMENT;
    if (strlen(from) + 1 > length) return INSUFFICIENT_SIZE;
    strcpy(to, from);
    return SUCCESS;
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags) {
    const char *code = getenv("FAKE_NVML_INIT");
    (void)flags;
    if (code && atoi(code)) return atoi(code);
    if (users++ == 0) read_devices();
    return SUCCESS;
}

nvmlReturn_t nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

nvmlReturn_t nvmlShutdown(void) {
    if (!users) return UNINITIALIZED;
    users--;
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) {
    if (!users) return UNINITIALIZED;
    if (!count) return INVALID_ARGUMENT;
    *count = device_count;
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
    if (!users) return UNINITIALIZED;
    if (!device || index >= device_count) return INVALID_ARGUMENT;
    *device = &devices[index];
    return devices[index].lost ? GPU_IS_LOST : SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length) {
    return device ? copy_out(device->model, name, length) : INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length) {
    return device ? copy_out(device->uuid, uuid, length) : INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
    if (!users) return UNINITIALIZED;
    if (!device || !memory) return INVALID_ARGUMENT;
    memory->total = device->mib << 20;
    memory->used = 0;
    memory->free = memory->total;
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory) {
    if (!users) return UNINITIALIZED;
    if (!device || !memory) return INVALID_ARGUMENT;
    if (memory->version != (sizeof *memory | 2u << 24)) return ARGUMENT_VERSION_MISMATCH;
    memory->total = device->mib << 20;
    memory->reserved = memory->used = 0;
    memory->free = memory->total;
    return SUCCESS;
}

typedef struct {
    char legacy[16];
    unsigned int domain, bus, device, id, subsystem;
    char bus_id[32];
} nvmlPciInfo_t;
typedef struct { unsigned int gpu, memory; } nvmlUtilization_t;

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *info) {
    if (!users) return UNINITIALIZED;
    if (!device || !info) return INVALID_ARGUMENT;
    memset(info, 0, sizeof *info);
    info->bus = (unsigned int)(device - devices) + 1;
    snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", info->bus);
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *use) {
    if (!users) return UNINITIALIZED;
    if (!device || !use) return INVALID_ARGUMENT;
    use->gpu = 37;
    use->memory = 12;
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned int sensor, unsigned int *celsius) {
    if (!users) return UNINITIALIZED;
    if (!device || sensor || !celsius) return INVALID_ARGUMENT;
    *celsius = 61;
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *milliwatts) {
    if (!users) return UNINITIALIZED;
    if (!device || !milliwatts) return INVALID_ARGUMENT;
    return NOT_SUPPORTED;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length) {
    return copy_out("615.71.01", version, length);
}

const char *nvmlErrorString(nvmlReturn_t result) {
    switch (result) {
        case SUCCESS: return "Success";
        case UNINITIALIZED: return "Uninitialized";
        case INVALID_ARGUMENT: return "Invalid Argument";
        case NOT_SUPPORTED: return "Not Supported";
        case NO_PERMISSION: return "Insufficient Permissions";
        case INSUFFICIENT_SIZE: return "Insufficient Size";
        case DRIVER_NOT_LOADED: return "Driver Not Loaded";
        case GPU_IS_LOST: return "GPU is lost";
        default: return "Unknown Error";
    }
}
