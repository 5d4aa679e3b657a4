"""The pictures of formula_pictures.h, for scripts that process them with other libraries."""
from PIL import Image

WIDTH, HEIGHT = 40, 30


def picture(number, channels):
    values = bytearray()
    for y in range(HEIGHT):
        for x in range(WIDTH):
            for c in range(channels):
                if number == 0:
                    values.append((x * 37 + y * 59 + c * 83 + x * y * (c + 1)) % 256)
                else:
                    values.append(60 + (x * 3 + y * 2 + c * 11) % 130)
    return Image.frombytes("RGB" if channels == 3 else "L", (WIDTH, HEIGHT), bytes(values))
