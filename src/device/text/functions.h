/* The functions of single numbers. */

/* The nearest whole number of x / ln 2 is taken out; a polynomial has the rest. */
DEVICE float exponential(float x) {
    const float round = 12582912.0f;
    const float whole = FMA(x, FLOAT_OF(0x3fb8aa3b), round), n = whole - round;
    float r = FMA(n, FLOAT_OF(0xbf317218), x);
    r = FMA(n, 1.9046543e-9f, r);
    float p = FMA(1.3814467e-3f, r, 8.368781e-3f);
    p = FMA(p, r, 4.166839e-2f);
    p = FMA(p, r, 1.666652e-1f);
    p = FMA(p, r, 4.9999994e-1f);
    const unsigned int exponent = (unsigned int)BITS_OF(whole) - (unsigned int)BITS_OF(round) + 127u;
    const float y = (FMA(p, r * r, r) + 1.0f) * FLOAT_OF(exponent << 23);
    return x < -87.33654f ? 0.0f : x > 88.37626f ? -LOWEST : y;
}

DEVICE float sigmoid(float x) {
    return 1.0f / (1.0f + exponential(-x));
}

/* The logarithm of FreeBSD's msun, as the crate `libm` has it. */
DEVICE float logarithm(float x) {
    int bits = BITS_OF(x), k = 0;
    if (x == 0.0f) return LOWEST;
    if (bits < 0) return NO_NUMBER;
    if (bits >= 0x7f800000 || bits == 0x3f800000) return bits == 0x3f800000 ? 0.0f : x;
    if (bits < 0x00800000) {
        k = -25;
        bits = BITS_OF(x * 33554432.0f);
    }
    bits += 0x3f800000 - 0x3f3504f3;
    k += (bits >> 23) - 0x7f;
    bits = (bits & 0x007fffff) + 0x3f3504f3;
    const float f = FLOAT_OF(bits) - 1.0f;
    const float s = f / (2.0f + f), z = s * s, w = z * z;
    const float t1 = w * (0.40000972152f + w * 0.24279078841f);
    const float t2 = z * (0.66666662693f + w * 0.28498786688f);
    const float r = t2 + t1, fold = 0.5f * f * f, d = (float)k;
    return s * (fold + r) + d * 9.0580006145e-06f - fold + f + d * 6.9313812256e-01f;
}

/* A search for the largest passes over what is no number. */
DEVICE float more(float a, float b) {
    return b > a ? b : a;
}

/* Joins the lanes of each row of a group: the second half to the first, until one is left. */
DEVICE float sum_of_lanes(IN_SHARED(float) lanes, float own) {
    const int lane = ITEM % LANES;
    SYNC();
    lanes[ITEM] = own;
    for (int fold = LANES / 2; fold > 0; fold /= 2) {
        SYNC();
        if (lane < fold) lanes[ITEM] = lanes[ITEM] + lanes[ITEM + fold];
    }
    SYNC();
    return lanes[ITEM - lane];
}

DEVICE double wide_sum_of_lanes(IN_SHARED(double) lanes, double own) {
    const int lane = ITEM % LANES;
    SYNC();
    lanes[ITEM] = own;
    for (int fold = LANES / 2; fold > 0; fold /= 2) {
        SYNC();
        if (lane < fold) lanes[ITEM] = lanes[ITEM] + lanes[ITEM + fold];
    }
    SYNC();
    return lanes[ITEM - lane];
}

DEVICE float largest_of_lanes(IN_SHARED(float) lanes, float own) {
    const int lane = ITEM % LANES;
    SYNC();
    lanes[ITEM] = own;
    for (int fold = LANES / 2; fold > 0; fold /= 2) {
        SYNC();
        if (lane < fold) lanes[ITEM] = more(lanes[ITEM], lanes[ITEM + fold]);
    }
    SYNC();
    return lanes[ITEM - lane];
}

DEVICE int least_of_lanes(IN_SHARED(int) lanes, int own) {
    const int lane = ITEM % LANES;
    SYNC();
    lanes[ITEM] = own;
    for (int fold = LANES / 2; fold > 0; fold /= 2) {
        SYNC();
        if (lane < fold && lanes[ITEM + fold] < lanes[ITEM]) lanes[ITEM] = lanes[ITEM + fold];
    }
    SYNC();
    return lanes[ITEM - lane];
}

/* One function of each number: for the golden bits. */
KERNEL(functions)(READ(float, x), WRITE(float, y), INT(count), INT(which)) {
    OPEN_READ(float, x);
    OPEN_WRITE(float, y);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i < count) y[i] = which == 0 ? exponential(x[i]) : logarithm(x[i]);
}
