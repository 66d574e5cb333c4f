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

/* `e^x - 1` of FreeBSD's msun, as the crate `libm` has it, from -0.52 to 20: what the
 * hyperbolic tangent asks for. */
DEVICE float exponential_less_one(float x) {
    const int bits = BITS_OF(x) & 0x7fffffff, is_below = BITS_OF(x) < 0;
    int k = 0;
    float c = 0.0f;
    if (bits > 0x3eb17218) {
        float high, low;
        if (bits < 0x3f851592) {
            high = is_below ? x + 6.9313812256e-01f : x - 6.9313812256e-01f;
            low = is_below ? -9.0580006145e-06f : 9.0580006145e-06f;
            k = is_below ? -1 : 1;
        } else {
            k = (int)(1.4426950216f * x + (is_below ? -0.5f : 0.5f));
            high = x - (float)k * 6.9313812256e-01f;
            low = (float)k * 9.0580006145e-06f;
        }
        x = high - low;
        c = high - x - low;
    } else if (bits < 0x33000000) {
        return x;
    }
    const float half_x = 0.5f * x, square = x * half_x;
    const float r = 1.0f + square * (-3.3333212137e-2f + square * 1.5807170421e-3f), t = 3.0f - r * half_x;
    float e = square * ((r - t) / (6.0f - x * t));
    if (k == 0) return x - (x * e - square);
    e = x * (e - c) - c;
    e = e - square;
    if (k == -1) return 0.5f * (x - e) - 0.5f;
    if (k == 1) return x < -0.25f ? -2.0f * (e - (x + 0.5f)) : 1.0f + 2.0f * (x - e);
    const float power = FLOAT_OF((0x7f + k) << 23), inverse = FLOAT_OF((0x7f - k) << 23);
    return k < 23 ? (x - e + (1.0f - inverse)) * power : (x - (e + inverse) + 1.0f) * power;
}

/* The hyperbolic tangent of msun, as `libm` has it. */
DEVICE float hyperbolic_tangent(float x) {
    const int bits = BITS_OF(x) & 0x7fffffff, is_below = BITS_OF(x) < 0;
    const float size = FLOAT_OF(bits);
    float y = size;
    if (bits > 0x41200000) {
        y = 1.0f + 0.0f / size;
    } else if (bits >= 0x00800000) {
        const int is_far = bits > 0x3f0c9f54, is_near = bits <= 0x3e82c578;
        const float t = exponential_less_one(is_near ? -2.0f * size : 2.0f * size);
        y = is_far ? 1.0f - 2.0f / (t + 2.0f) : is_near ? -t / (t + 2.0f) : t / (t + 2.0f);
    }
    return is_below ? -y : y;
}

/* The exponential of msun, which its error function has; of numbers that are no more than 0 and above -87. */
DEVICE float exponential_of_error(float x) {
    const int bits = BITS_OF(x) & 0x7fffffff;
    int k = 0;
    float high = x, low = 0.0f;
    if (bits > 0x3eb17218) {
        k = bits > 0x3f851592 ? (int)(1.4426950216f * x + (x < 0.0f ? -0.5f : 0.5f)) : x < 0.0f ? -1 : 1;
        high = x - (float)k * 6.9314575195e-01f;
        low = (float)k * 1.4286067653e-06f;
        x = high - low;
    } else if (bits <= 0x39000000) {
        return 1.0f + x;
    }
    const float square = x * x, c = x - square * (1.6666625440e-1f + square * -2.7667332906e-3f);
    const float y = 1.0f + (x * c / (2.0f - c) - low + high);
    return y * FLOAT_OF((0x7f + k) << 23);
}

/* One less the error function of a number of at least 0.84375 and below 6. */
DEVICE float error_beyond(float x) {
    const int bits = BITS_OF(x);
    float s = x - 1.0f, r, q;
    if (bits < 0x3fa00000) {
        r = 3.5478305072e-02f + s * -2.1663755178e-03f;
        r = 3.1834661961e-01f + s * (-1.1089469492e-01f + s * r);
        r = -2.3621185683e-03f + s * (4.1485610604e-01f + s * (-3.7220788002e-01f + s * r));
        q = 1.3637083583e-02f + s * 1.1984500103e-02f;
        q = 7.1828655899e-02f + s * (1.2617121637e-01f + s * q);
        q = 1.0f + s * (1.0642088205e-01f + s * (5.4039794207e-01f + s * q));
        return 1.0f - 8.4506291151e-01f - r / q;
    }
    s = 1.0f / (x * x);
    if (bits < 0x4036db6d) {
        r = -1.8460508728e+02f + s * (-8.1287437439e+01f + s * -9.8143291473e+00f);
        r = -1.0558626175e+01f + s * (-6.2375331879e+01f + s * (-1.6239666748e+02f + s * r));
        r = -9.8649440333e-03f + s * (-6.9385856390e-01f + s * r);
        q = 1.0863500214e+02f + s * (6.5702495575e+00f + s * -6.0424413532e-02f);
        q = 4.3456588745e+02f + s * (6.4538726807e+02f + s * (4.2900814819e+02f + s * q));
        q = 1.0f + s * (1.9651271820e+01f + s * (1.3765776062e+02f + s * q));
    } else {
        r = -6.3756646729e+02f + s * (-1.0250950928e+03f + s * -4.8351919556e+02f);
        r = -1.7757955551e+01f + s * (-1.6063638306e+02f + s * r);
        r = -9.8649431020e-03f + s * (-7.9928326607e-01f + s * r);
        q = 2.5530502930e+03f + s * (4.7452853394e+02f + s * -2.2440952301e+01f);
        q = 3.2579251099e+02f + s * (1.5367296143e+03f + s * (3.1998581543e+03f + s * q));
        q = 1.0f + s * (3.0338060379e+01f + s * q);
    }
    const float z = FLOAT_OF(bits & 0xffffe000);
    return exponential_of_error(-z * z - 0.5625f) * exponential_of_error((z - x) * (z + x) + r / q) / x;
}

/* The error function of msun, as `libm` has it. */
DEVICE float error_function(float x) {
    const int bits = BITS_OF(x) & 0x7fffffff, is_below = BITS_OF(x) < 0;
    if (bits >= 0x7f800000) return (is_below ? -1.0f : 1.0f) + 1.0f / x;
    if (bits < 0x31800000) return 0.125f * (8.0f * x + 1.0270333290e+00f * x);
    if (bits < 0x3f580000) {
        const float z = x * x;
        float r = -5.7702702470e-03f + z * -2.3763017452e-05f, s = 1.3249473704e-04f + z * -3.9602282413e-06f;
        r = 1.2837916613e-01f + z * (-3.2504209876e-01f + z * (-2.8481749818e-02f + z * r));
        s = 1.0f + z * (3.9791721106e-01f + z * (6.5022252500e-02f + z * (5.0813062117e-03f + z * s)));
        return x + x * (r / s);
    }
    /* What is beyond 6 is nothing to 1. */
    const float y = bits < 0x40c00000 ? 1.0f - error_beyond(FLOAT_OF(bits)) : 1.0f;
    return is_below ? -y : y;
}

/* A number with fewer bits: to the nearest, ties to even, or up as often as it lies near to that, by bits of its place (the
 * finalizer of S. Vigna's SplitMix64). */
DEVICE float narrowed(float x, int dropped, int at_random, ULONG seed, ULONG place) {
    const unsigned int bits = (unsigned int)BITS_OF(x), mask = (1u << dropped) - 1u;
    if ((bits & 0x7f800000u) == 0x7f800000u) return x;
    ULONG z = seed + place * (ULONG)0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * (ULONG)0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * (ULONG)0x94d049bb133111eb;
    const unsigned int half_way = (1u << (dropped - 1)) - 1u + ((bits >> dropped) & 1u);
    const unsigned int up = at_random ? (unsigned int)(z >> 32) & mask : half_way;
    return FLOAT_OF((bits + up) & ~mask);
}

/* A search for the largest passes over what is no number. */
DEVICE float more(float a, float b) {
    return b > a ? b : a;
}

/* Joins the lanes of each row of a group: the second half to the first, until one is left. */
#define JOINED_LANES(name, type, join)                                          \
    DEVICE type name(IN_SHARED(type) lanes, type own) {                         \
        const int lane = ITEM % LANES;                                          \
        SYNC();                                                                 \
        lanes[ITEM] = own;                                                      \
        for (int fold = LANES / 2; fold > 0; fold /= 2) {                       \
            SYNC();                                                             \
            if (lane < fold) lanes[ITEM] = join(lanes[ITEM], lanes[ITEM + fold]); \
        }                                                                       \
        SYNC();                                                                 \
        return lanes[ITEM - lane];                                              \
    }
#define SUM_OF(a, b) ((a) + (b))
#define LESS_OF(a, b) ((b) < (a) ? (b) : (a))
JOINED_LANES(sum_of_lanes, float, SUM_OF)
JOINED_LANES(wide_sum_of_lanes, double, SUM_OF)
JOINED_LANES(largest_of_lanes, float, more)
JOINED_LANES(least_of_lanes, int, LESS_OF)

/* The same of the lanes that one item has. */
DEVICE float sum_of_own_lanes(float *lanes) {
    for (int fold = LANES / 2; fold > 0; fold /= 2) {
        for (int l = 0; l < fold; l++) lanes[l] = lanes[l] + lanes[l + fold];
    }
    return lanes[0];
}

/* One function of each number: for the golden bits. */
KERNEL(functions)(READ(float, x), WRITE(float, y), INT(count), INT(which)) {
    OPEN_READ(float, x);
    OPEN_WRITE(float, y);
    const LONG i = (LONG)GROUP(0) * ITEMS + ITEM;
    if (i >= count) return;
    const float of = x[i];
    float value = 0.0f;
    if (which == 0) value = exponential(of);
    if (which == 1) value = logarithm(of);
    if (which == 2) value = hyperbolic_tangent(of);
    if (which == 3) value = error_function(of);
    y[i] = value;
}
